module github.com/fairlead-dev/fairlead

go 1.26.0

require (
	github.com/inconshreveable/mousetrap v1.1.0
	k8s.io/apiserver v0.37.0
)

replace k8s.io/apiserver => ./staging/src/v1.37/k8s.io/apiserver
