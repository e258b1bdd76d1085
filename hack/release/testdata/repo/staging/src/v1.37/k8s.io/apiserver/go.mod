module k8s.io/apiserver

go 1.26.0
