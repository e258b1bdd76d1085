// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app adds --embedded-etcd-dir and a check of feature gates to the stock kube-apiserver command. Start with
// NewCommand. etcd.go runs the stock command together with package embeddedetcd.
package app

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/term"
	"k8s.io/component-base/version/verflag"
	stock "k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/fairlead-dev/fairlead/pkg/features"
)

const embeddedEtcdDir = "embedded-etcd-dir"

// NewCommand returns the stock command with --embedded-etcd-dir added. If the flag is not given, the command behaves
// like the stock command. NewCommand can be called only once in a process, because the stock command installs signal
// handlers.
func NewCommand() *cobra.Command {
	cmd := stock.NewAPIServerCommand()
	checkFeatures(cmd)
	addEmbeddedEtcd(cmd, func() { genericapiserver.RequestShutdown() })
	return cmd
}

// checkFeatures makes the command fail if the dependencies of a feature gate are disabled (rule U7).
func checkFeatures(cmd *cobra.Command) {
	serve := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		verflag.PrintAndExitIfRequested()
		if err := features.CheckDependencies(utilfeature.DefaultFeatureGate); err != nil {
			return err
		}
		return serve(cmd, args)
	}
}

// addEmbeddedEtcd adds the flag to a command that uses --etcd-servers. requestShutdown must make that command return,
// like a signal does.
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

// addFlag adds the flag, and a section for it to the help and the usage.
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

// checkConflicts returns an error if the flags configure another etcd.
func checkConflicts(flags *pflag.FlagSet) error {
	for _, name := range []string{"etcd-servers", "etcd-cafile", "etcd-certfile", "etcd-keyfile"} {
		if flags.Changed(name) {
			return fmt.Errorf("--%s and --%s exclude each other: use an etcd of your own or the embedded one",
				embeddedEtcdDir, name)
		}
	}
	return nil
}
