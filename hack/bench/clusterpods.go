// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

const (
	// replicas are the Pods of one application: they differ in their names, their UIDs and the names of their token's
	// volumes.
	replicas = 30
	// scanNamespaces is how many namespaces the Pods live in.
	scanNamespaces = 50
	// rulesBroken is how many rules a violating Pod violates. The messages of four name the Pod, those of four a
	// container, which has the name of its application; one names the namespace, and one is the same for all.
	rulesBroken = 10
)

// marked replaces the marks in the text of the nth Pod.
func marked(n, application int, namespace string) *strings.Replacer {
	return strings.NewReplacer("@pod@", fmt.Sprintf("web-%05d-6b9f8c7d55-%05d", application, n),
		"@token@", fmt.Sprintf("kube-api-access-%05d", n), "@application@", fmt.Sprintf("web-%05d", application),
		"@namespace@", namespace, "@uid@", fmt.Sprintf("%08x-6f3c-4b7a-9c2e-%012x", uint32(n)*2654435761, n),
		"@version@", fmt.Sprint(100_000+n))
}

// clusterPods are the Pods of a cluster. They are generated when they are asked for, the same ones each time.
type clusterPods struct {
	count int
	// every is which of them violate: each, or each hundredth; 0 for none.
	every            int
	clean, violating string
}

// newClusterPods has count Pods, of which each every-th violates ten rules.
func newClusterPods(count, every int) (*clusterPods, error) {
	p := &clusterPods{count: count, every: every}
	for text, broken := range map[*string]bool{&p.clean: false, &p.violating: true} {
		pod, err := wholePod(func(container int, d departure) bool { return broken && d.Broken && container <= 0 })
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(pod)
		if err != nil {
			return nil, err
		}
		*text = string(raw)
	}
	return p, nil
}

// Len is how many there are.
func (p *clusterPods) Len() int { return p.count }

// Append appends the nth Pod in the order of namespaces and names, as a list of the API server has them.
func (p *clusterPods) Append(to []byte, n int) []byte {
	text := p.clean
	if p.every > 0 && n%p.every == p.every-1 {
		text = p.violating
	}
	return append(to, marked(n, n/replicas, fmt.Sprintf("pay-%02d", n*scanNamespaces/p.count)).Replace(text)...)
}

// namespaces are those that the Pods live in.
type namespaces struct{}

// Len is how many there are.
func (namespaces) Len() int { return scanNamespaces }

// Append appends the nth one.
func (namespaces) Append(to []byte, n int) []byte {
	return fmt.Appendf(to, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"pay-%02d",`+
		`"uid":"1f0e2d3c-0000-4000-8000-%012d","resourceVersion":"%d","labels":{"kubernetes.io/metadata.name":`+
		`"pay-%02d"}},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}`, n, n, n+1, n)
}
