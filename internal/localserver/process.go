// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package localserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
)

const (
	pollInterval = 50 * time.Millisecond
	// startTimeout is long, because a loaded machine is slow.
	startTimeout = 2 * time.Minute
)

// Process is a program that runs in the background and writes its output to a file. It ends with this program, however
// this program ends.
type Process struct {
	name, log string
	cmd       *exec.Cmd
	exited    chan struct{}
}

func startProcess(cmd *exec.Cmd, name, log string) (*Process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // the process has its own
	cmd.Stdout, cmd.Stderr = file, file
	// In a group of its own the process gets no Ctrl-C from the terminal, only the one signal that Stop sends: an API
	// server exits at once at a second one.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{name: name, log: log, cmd: cmd, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // the state of the process says as much
		close(p.exited)
	}()
	return p, nil
}

// PID returns the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited returns a channel that is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Stop ends the process and waits for its end. If the context ends first, the process is killed, which the data of etcd
// survives, and the error is the context's.
func (p *Process) Stop(ctx context.Context) error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only if the process has ended
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("%s did not stop and was killed: %w", p.name, context.Cause(ctx))
	}
}

// Kill ends the process at once.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // fails only if the process has ended
	<-p.exited
}

// Pause stops the execution of the process until Resume is called. Its connections stay open. A paused process cannot end
// by itself, but it can be killed.
func (p *Process) Pause() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume continues a paused process.
func (p *Process) Resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// waitUntil polls until isReady returns true.
func (p *Process) waitUntil(ctx context.Context, isReady func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("gave up after %v", startTimeout))
	defer cancel()
	for !isReady() {
		select {
		case <-p.exited:
			return p.Failure("did not start")
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w; see %s", p.name, context.Cause(ctx), p.log)
		case <-time.After(pollInterval):
		}
	}
	return nil
}

// Failure returns an error for a process that has ended by itself, with the last errors in its log.
func (p *Process) Failure(what string) error {
	message := fmt.Sprintf("%s %s (%s); from %s:", p.name, what, p.cmd.ProcessState, p.log)
	log, err := os.ReadFile(p.log)
	if err != nil {
		return fmt.Errorf("%s %w", message, err)
	}
	return errors.New(strings.Join(append([]string{message}, lastErrors(string(log))...), "\n  "))
}

// anError matches errors in the log of the API server and of etcd, and those of the command line.
var anError = regexp.MustCompile(`^([EF]\d{4} |Error: |panic: |\S+\t(error|dpanic|panic|fatal)\t)`)

// lastErrors returns the last errors in a log or, if it has none, its last lines.
func lastErrors(log string) []string {
	const most = 5
	lines := strings.Split(strings.TrimSpace(log), "\n")
	var found []string
	for _, line := range lines {
		if anError.MatchString(line) {
			found = append(found, line)
		}
	}
	if len(found) > 0 {
		lines = found
	}
	return lines[max(0, len(lines)-most):]
}
