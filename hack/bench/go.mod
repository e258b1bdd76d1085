module github.com/fairlead-dev/fairlead/hack/bench

go 1.26.0

require (
	github.com/fairlead-dev/fairlead v0.0.0
	github.com/prometheus/procfs v0.21.1
	golang.org/x/perf v0.0.0-20260908200009-22c9c6c9d4da
	golang.org/x/sync v0.23.0
	gonum.org/v1/gonum v0.17.0
	sigs.k8s.io/yaml v1.6.0
)

require (
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	go.yaml.in/yaml/v2 v2.4.4 // indirect
	golang.org/x/sys v0.48.0 // indirect
)

// For internal/localserver.
replace github.com/fairlead-dev/fairlead => ../..
