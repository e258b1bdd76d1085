// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// kube-apiserver is Kubernetes' API server with fairlead's features. With --embedded-etcd-dir it runs etcd in its own
// process. The command is in package app.
package main

import (
	"os"
	_ "time/tzdata" // for CronJob time zones

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // for JSON log format registration
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // load all the prometheus client-go plugins
	_ "k8s.io/component-base/metrics/prometheus/version"  // for version metric registration

	"github.com/fairlead-dev/fairlead/cmd/kube-apiserver/app"
)

func main() {
	os.Exit(cli.Run(app.NewCommand()))
}
