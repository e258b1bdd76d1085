// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app is the stock kube-apiserver command and what we add to it.
package app

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	genericapiserver "k8s.io/apiserver/pkg/server"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/term"
	"k8s.io/component-base/version/verflag"
	stock "k8s.io/kubernetes/cmd/kube-apiserver/app"
)

const embeddedEtcdDir = "embedded-etcd-dir"

// NewCommand returns the stock command with --embedded-etcd-dir added. Without that flag it is the stock command. Like
// the stock one it can be made only once in a process, because it takes over the signals.
func NewCommand() *cobra.Command {
	cmd := stock.NewAPIServerCommand()
	addEmbeddedEtcd(cmd, func() { genericapiserver.RequestShutdown() })
	return cmd
}

// addEmbeddedEtcd adds the flag to a command that serves with --etcd-servers. requestShutdown must make that command
// return, as a signal would.
func addEmbeddedEtcd(cmd *cobra.Command, requestShutdown func()) {
	dir := addFlag(cmd)
	serve := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		verflag.PrintAndExitIfRequested()
		if *dir == "" {
			return serve(cmd, args)
		}
		if err := checkConflicts(cmd.Flags()); err != nil {
			return err
		}
		return serveWithEtcd(cmd, *dir, requestShutdown, func() error { return serve(cmd, args) })
	}
}

// addFlag adds the flag, and a section with it to the help.
func addFlag(cmd *cobra.Command) *string {
	var sections cliflag.NamedFlagSets
	section := sections.FlagSet("embedded etcd")
	dir := section.String(embeddedEtcdDir, "", ""+
		"Run etcd inside this process and keep its data in this directory, instead of using --etcd-servers. "+
		"The directory is created if it does not exist. This is for one API server with its own storage; "+
		"several of them share an etcd cluster.")
	cmd.Flags().AddFlagSet(section)

	usage, help := cmd.UsageFunc(), cmd.HelpFunc()
	columns, _, _ := term.TerminalSize(cmd.OutOrStdout())
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		if err := usage(cmd); err != nil {
			return err
		}
		cliflag.PrintSections(cmd.OutOrStderr(), sections, columns)
		return nil
	})
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		help(cmd, args)
		cliflag.PrintSections(cmd.OutOrStdout(), sections, columns)
	})
	return dir
}

// checkConflicts refuses the flags that say how to reach another etcd.
func checkConflicts(flags *pflag.FlagSet) error {
	for _, name := range []string{"etcd-servers", "etcd-cafile", "etcd-certfile", "etcd-keyfile"} {
		if flags.Changed(name) {
			return fmt.Errorf("--%s and --%s exclude each other: use an etcd of your own or the embedded one", embeddedEtcdDir, name)
		}
	}
	return nil
}
