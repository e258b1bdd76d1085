// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// progress shows that the program is still working.
type progress struct {
	began time.Time
	stop  chan struct{}
	done  chan struct{}
}

// showProgress adds a dot to the line every second until end.
func showProgress(url string) *progress {
	p := &progress{began: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
	fmt.Printf("fairlead: starting the API server on %s ", url)
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

// printDemo prints commands that can be pasted. built is the kubectl that the tests build.
func printDemo(out io.Writer, built string) {
	kubectl, hint := findKubectl(built)
	_, _ = fmt.Fprintf(out, `
Kubeconfig: %[1]s/kubeconfig   Log: %[1]s/kube-apiserver.log   Stop: Ctrl-C

Try it from another terminal, at the root of the repository%[3]s:

  export KUBECONFIG=%[1]s/kubeconfig
  %[2]s apply -f examples/field-gates/crd.yaml
  %[2]s apply -f examples/field-gates/crontab.yaml
  %[2]s patch crd crontabs.stable.example.com --type=json -p '[{"op":"add","path":"/spec/customFeatureGates/featureGates/0/enabled","value":true}]' && %[2]s apply -f examples/field-gates/crontab.yaml

  %[2]s apply -f examples/unions/crd.yaml
  %[2]s apply -f examples/unions/backup.yaml
  %[2]s patch backup wiki --type=merge --patch-file examples/unions/switch.yaml
`, runDir, kubectl, hint)
}

// findKubectl prefers the user's kubectl to the one that the tests build.
func findKubectl(built string) (kubectl, hint string) {
	if _, err := exec.LookPath("kubectl"); err == nil {
		return "kubectl", ""
	}
	if _, err := os.Stat(built); err != nil {
		hint = " (first build a kubectl: make envtest-assets)"
	}
	return "./" + built, hint
}
