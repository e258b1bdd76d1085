# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# The list of what can be done; the scripts are in hack/. LINE is the Kubernetes line. It has a default here only: the
# scripts require it.

LINE ?= v1.37
PORT ?= 6443
export LINE PORT

.DEFAULT_GOAL := help
OUT := _output

.PHONY: help
help: ## Print this list.
	@awk -F ':.*## ' '/^##@ /{print substr($$0, 5)} /^[a-z-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "Variables: LINE=$(LINE) (the Kubernetes line), PORT=$(PORT) (of make run)"

##@ Use

.PHONY: run
run: build ## Build the server and run it on 127.0.0.1:PORT until Ctrl-C; its data stays in _output/run.
	@$(OUT)/$(LINE)/bin/fairlead-run

.PHONY: clean-run
clean-run: ## Remove the data, certificates and kubeconfig of make run.
	@hack/clean-run.sh

.PHONY: envtest-assets
envtest-assets: stage ## Build kube-apiserver, etcd and kubectl into _output/LINE/envtest, for KUBEBUILDER_ASSETS.
	@hack/build.sh envtest

.PHONY: kind-up
kind-up: ## Create a kind cluster with the server of make release; HA=1 for three control planes.
	@hack/kind-up.sh

.PHONY: kind-down
kind-down: ## Delete the cluster of make kind-up; HA=1 for the one with three control planes.
	@hack/kind-down.sh

##@ Build

.PHONY: stage
stage: ## Write staging/src from the Go module cache and the patches; nothing to do is quick.
	@hack/patchset.sh stage --line='$(LINE)'

.PHONY: build
build: stage ## Build _output/LINE/bin/kube-apiserver and fairlead-run.
	@hack/build.sh server

.PHONY: stock
stock: stage ## Build the unpatched kube-apiserver of the line into _output/LINE/stock, for comparison.
	@hack/build.sh stock

.PHONY: image
image: stage ## Write archives of the server's container image into _output/LINE/release.
	@hack/build.sh release
	@hack/image.sh

.PHONY: release
release: stage ## Write binaries, images, envtest archives, SBOMs and checksums into _output/LINE/release.
	@hack/build.sh release
	@hack/release.sh

##@ Test

.PHONY: test
test: test-unit test-upstream test-integration test-kind ## Run all tests.

.PHONY: test-unit
test-unit: stage ## Run our unit tests.
	@hack/test-unit.sh

.PHONY: test-upstream
test-upstream: stage ## Run upstream's unit tests of every patched package, with our feature gates off and on.
	@hack/test-upstream.sh

.PHONY: test-integration
test-integration: envtest-assets build stock ## Run the integration tests on the built binaries.
	@hack/test-integration.sh

.PHONY: test-kind
test-kind: envtest-assets ## Test the clusters of kind without a container engine.
	@hack/test-kind.sh

.PHONY: bench
bench: stage ## Measure the costs in about 15 minutes, into _output/LINE/bench; QUICK=1 for a short smoke run.
	@hack/bench.sh

.PHONY: verify
verify: stage ## Check formatting, vet, linters, patches, generated files, go.mod, docs, rules and scripts.
	@hack/verify.sh

##@ Patches and generated files

.PHONY: export
export: ## Write the commits below staging/src as patches.
	@hack/patchset.sh export --line='$(LINE)'

.PHONY: stat
stat: ## Count patches, hunks and lines.
	@hack/stat.sh

.PHONY: update
update: ## Run every hack/update-*.sh.
	@set -e; for script in hack/update-*.sh; do $$script; done

.PHONY: clean
clean: ## Remove what was built; the data of make run and the repositories in staging/src stay.
	@rm -rf $(OUT)/bin $(OUT)/v*
