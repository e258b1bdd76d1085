// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kind tests the clusters of this directory without a container engine. kind itself runs against a stand-in for
// docker, which keeps what kind writes to the nodes; kubeadm itself renders the pods of the API servers from that; our
// server runs with the arguments of these pods.
//
// Start reading in TestClusters. hack/test-kind.sh builds kubeadm and runs the tests on the binaries of
// hack/build.sh envtest.
package kind
