// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// process is a child with its output in a file.
type process struct {
	name    string
	logFile string
	cmd     *exec.Cmd
	exited  chan struct{}
}

// start runs a program that ends with this one, whatever happens to it.
func start(dir, name string, env []string, program string, args ...string) (*process, error) {
	p := &process{name: name, logFile: filepath.Join(dir, name+".log"), exited: make(chan struct{})}
	log, err := os.Create(p.logFile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own
	p.cmd = exec.Command(program, args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is for this program alone
	endWithParent(p.cmd.SysProcAttr)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in its log
		close(p.exited)
	}()
	return p, nil
}

// stop ends the process; its data is thrown away anyway, so no patience is wasted.
func (p *process) stop() {
	_ = p.cmd.Process.Kill() // fails only if there is nothing left to stop
	<-p.exited
}

// died is the error of a process that ended before it was asked to.
func (p *process) died() error {
	log, err := os.ReadFile(p.logFile)
	if err != nil {
		return err
	}
	const tail = 1500
	return fmt.Errorf("%s ended (%s): …%s", p.name, p.cmd.ProcessState, log[max(0, len(log)-tail):])
}

// CPU returns the time that a process has run, in user and kernel mode.
//
// The scheduler counts nanoseconds for each thread, /proc/<pid>/stat hundredths of a second for all; the threads of a
// Go program stay until its end, so that nothing is lost with them.
func CPU(pid int) (time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		return cpuOfStat(pid)
	}
	var sum time.Duration
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that has just ended
		}
		ran, err := parseSchedstat(text)
		if err != nil {
			return 0, err
		}
		sum += ran
	}
	return sum, nil
}

// parseSchedstat reads the time that a thread has run, which is the first number.
func parseSchedstat(text []byte) (time.Duration, error) {
	first, _, _ := bytes.Cut(text, []byte(" "))
	n, err := strconv.ParseInt(string(first), 10, 64)
	return time.Duration(n), err
}

func cpuOfStat(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(text)
}

// parseStat adds utime and stime, the 14th and 15th field. The second field is a name, which may hold spaces.
func parseStat(text []byte) (time.Duration, error) {
	const ticksPerSecond = 100 // USER_HZ, the same on all that Go runs on
	_, rest, _ := bytes.Cut(text, []byte(") "))
	fields := bytes.Fields(rest)
	if len(fields) < 13 {
		return 0, errors.New("/proc/<pid>/stat is too short")
	}
	user, err := strconv.ParseInt(string(fields[11]), 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * time.Second / ticksPerSecond, err
}

// Memory is what the kernel says of the memory of a process, in bytes.
type Memory struct{ RSS, Peak float64 }

// memoryOf reads it.
func memoryOf(pid int) (Memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Memory{}, err
	}
	return parseStatus(text)
}

func parseStatus(text []byte) (Memory, error) {
	var m Memory
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		kib := string(bytes.TrimSuffix(bytes.TrimSpace(value), []byte(" kB")))
		var err error
		switch string(name) {
		case "VmRSS":
			m.RSS, err = strconv.ParseFloat(kib, 64)
		case "VmHWM":
			m.Peak, err = strconv.ParseFloat(kib, 64)
		}
		if err != nil {
			return m, err
		}
	}
	m.RSS, m.Peak = m.RSS*1024, m.Peak*1024
	return m, nil
}

// freePort returns a port that nobody listens on now.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}
