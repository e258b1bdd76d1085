// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/endtoend"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/manycrds"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/micro"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/route"
)

// plan says how much each part does.
type plan struct {
	micro    micro.Config
	endToEnd endtoend.Config
	crds     manycrds.Config
}

// planOf keeps a whole run below 15 minutes on two cores, and a smoke run at about one.
func planOf(o options, schema route.Schema) plan {
	p := plan{
		micro: micro.Config{
			Binary: o.benchmarks, Dir: o.data, Log: logf,
			Time: 20 * time.Millisecond, Rounds: 5, For: 2 * time.Minute,
		},
		endToEnd: endtoend.Config{
			Server: o.server, Stock: o.stock, Etcd: o.etcd, Schema: schema, Log: logf,
			// An update allocates some 5 MiB: what is between two collections must not take more than a gibibyte, in each
			// of nine servers. Small batches and many rounds tell small differences best.
			Workers: []int{1, 8}, Requests: 64, Batch: 4, Rounds: 8, For: 5 * time.Minute,
		},
		crds: manycrds.Config{
			Server: o.server, Stock: o.stock, Etcd: o.etcd, Schema: schema, Log: logf,
			CRDs: 500, Rounds: 2,
		},
	}
	if o.profiles {
		p.endToEnd.Profiles = filepath.Join(o.out, "profiles")
		p.crds.Profiles = p.endToEnd.Profiles
	}
	if o.quick {
		p.micro.Time, p.micro.Rounds, p.micro.For = time.Millisecond, 1, 0
		p.endToEnd.Requests, p.endToEnd.Rounds, p.endToEnd.For = 16, 1, 0
		p.crds.CRDs, p.crds.Rounds = 10, 1
	}
	return p
}

// logf tells on standard error what goes on.
func logf(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }
