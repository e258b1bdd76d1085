module github.com/fairlead-dev/fairlead/test/integration/corpus

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.21.2
	istio.io/api v1.31.1
	sigs.k8s.io/gateway-api v1.6.3
	sigs.k8s.io/network-policy-api v0.1.1
)
