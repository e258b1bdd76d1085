// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// progress shows that something goes on.
type progress struct {
	began time.Time
	stop  chan struct{}
	done  chan struct{}
}

// showProgress adds a dot to the line every second until end.
func showProgress(s settings) *progress {
	p := &progress{began: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
	fmt.Printf("fairlead: starting the API server on %s ", s.url())
	go func() {
		defer close(p.done)
		for {
			select {
			case <-p.stop:
				return
			case <-time.After(time.Second):
				fmt.Print(".")
			}
		}
	}()
	return p
}

func (p *progress) end(how string) {
	close(p.stop)
	<-p.done
	fmt.Printf(" %s after %.1fs\n", how, time.Since(p.began).Seconds())
}

// printDemo says how to use the server, in words that can be pasted.
func printDemo(out io.Writer, s settings) {
	kubectl, hint := findKubectl(s)
	_, _ = fmt.Fprintf(out, `
Kubeconfig: %[1]s   Log: %[2]s   Stop: Ctrl-C

Try it from another terminal, at the root of the repository%[4]s:

  export KUBECONFIG=%[1]s
  %[3]s apply -f examples/field-gates/crd.yaml
  %[3]s apply -f examples/field-gates/crontab.yaml
  %[3]s patch crd crontabs.stable.example.com --type=json -p '[{"op":"add","path":"/spec/customFeatureGates/featureGates/0/enabled","value":true}]' && %[3]s apply -f examples/field-gates/crontab.yaml

  %[3]s apply -f examples/unions/crd.yaml
  %[3]s apply -f examples/unions/backup.yaml
  %[3]s patch backup wiki --type=merge --patch-file examples/unions/switch.yaml
`, s.shown(s.kubeconfig()), s.shown(s.log()), kubectl, hint)
}

// findKubectl prefers the user's kubectl to the one that the tests build.
func findKubectl(s settings) (kubectl, hint string) {
	if _, err := exec.LookPath("kubectl"); err == nil {
		return "kubectl", ""
	}
	kubectl = filepath.Join("_output", "envtest", "kubectl")
	if _, err := os.Stat(filepath.Join(s.root, kubectl)); err != nil {
		hint = " (first build a kubectl: make envtest-assets)"
	}
	return "./" + kubectl, hint
}

// complaint matches what the server says when something is wrong: errors of its log, of etcd's, of the command line.
var complaint = regexp.MustCompile(`^([EF]\d{4} |Error: |panic: |\S+\t(error|dpanic|panic|fatal)\t)`)

// lastWords are the last errors in a log or, if it has none, its last lines.
func lastWords(log string) []string {
	const most = 5
	lines := strings.Split(strings.TrimSpace(log), "\n")
	var complaints []string
	for _, line := range lines {
		if complaint.MatchString(line) {
			complaints = append(complaints, line)
		}
	}
	if len(complaints) > 0 {
		lines = complaints
	}
	return lines[max(0, len(lines)-most):]
}
