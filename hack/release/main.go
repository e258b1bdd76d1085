// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command release makes the files of a release from the binaries that hack/build.sh release builds. docs/releases.md
// lists them. The same binaries make the same bytes, in any directory.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-dev/fairlead/hack/release/internal/bundle"
	"github.com/fairlead-dev/fairlead/hack/release/internal/envtest"
	"github.com/fairlead-dev/fairlead/hack/release/internal/image"
	"github.com/fairlead-dev/fairlead/hack/release/internal/sbom"
)

func main() {
	if err := newCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	b := &bundle.Bundle{}
	var epoch int64
	root := &cobra.Command{
		Use: "release", Short: "Make the files of a release from its binaries",
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			b.Time = time.Unix(epoch, 0).UTC()
			return b.Load()
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&b.Root, "root", ".", "directory of the repository")
	flags.StringVar(&b.Line, "line", "", "Kubernetes line, such as v1.37 (required)")
	flags.IntVar(&b.Number, "number", 1, "number of the release of the patches on one upstream version")
	flags.StringVar(&b.Revision, "revision", "", "commit that the binaries were built from")
	flags.Int64Var(&epoch, "epoch", 0, "time of that commit, in seconds since 1970")
	flags.StringSliceVar(&b.Architectures, "arch", []string{"amd64", "arm64"}, "architectures")
	root.AddCommand(newImagesCommand(b), newAllCommand(b))
	return root
}

func newImagesCommand(b *bundle.Bundle) *cobra.Command {
	return &cobra.Command{
		Use: "images", Short: "Write archives of the server's container image", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := b.Check(bundle.Server); err != nil {
				return err
			}
			return show(command, b, writeImages)
		},
	}
}

func newAllCommand(b *bundle.Bundle) *cobra.Command {
	var url string
	all := &cobra.Command{
		Use: "all", Short: "Write all files of the release", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := b.Check(binaries...); err != nil {
				return err
			}
			return show(command, b, func(b *bundle.Bundle) ([]string, error) { return writeAll(b, url) })
		},
	}
	all.Flags().StringVar(&url, "url", "", "where the files will be published, for the index of envtest (required)")
	_ = all.MarkFlagRequired("url")
	return all
}

var binaries = []string{bundle.Server, bundle.Etcd, bundle.Kubectl}

// show writes files and prints their paths.
func show(command *cobra.Command, b *bundle.Bundle, write func(*bundle.Bundle) ([]string, error)) error {
	names, err := write(b)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := fmt.Fprintln(command.OutOrStdout(), filepath.Join(b.Dir(), name)); err != nil {
			return err
		}
	}
	return nil
}

func writeImages(b *bundle.Bundle) ([]string, error) {
	var names []string
	for _, arch := range b.Architectures {
		written, err := image.Write(b, arch)
		if err != nil {
			return nil, err
		}
		names = append(names, written...)
	}
	return names, nil
}

func writeSBOMs(b *bundle.Bundle) ([]string, error) {
	var names []string
	for _, arch := range b.Architectures {
		for _, binary := range binaries {
			name, err := sbom.Write(b, arch, binary)
			if err != nil {
				return nil, err
			}
			names = append(names, name)
		}
	}
	return names, nil
}

func writeAll(b *bundle.Bundle, url string) ([]string, error) {
	if err := b.Clear(); err != nil {
		return nil, err
	}
	var names []string
	for _, write := range []func(*bundle.Bundle) ([]string, error){
		writeImages,
		func(b *bundle.Bundle) ([]string, error) { return envtest.Write(b, url) },
		writeSBOMs,
	} {
		written, err := write(b)
		if err != nil {
			return nil, err
		}
		names = append(names, written...)
	}
	summed := slices.Clone(names)
	for _, arch := range b.Architectures {
		for _, binary := range binaries {
			summed = append(summed, bundle.Platform(arch)+"/"+binary)
		}
	}
	names = append(names, bundle.Checksums)
	return names, b.WriteChecksums(summed)
}
