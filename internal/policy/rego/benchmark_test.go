// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	oparego "github.com/open-policy-agent/opa/v1/rego"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// benchmarkPolicies is how many policies match the Pod of the benchmarks: as
// many as Gatekeeper's library has for Pods.
const benchmarkPolicies = 27

const benchmarkRule = `package bench%[1]d

import rego.v1

containers contains c if some c in input.pod.spec.containers

containers contains c if some c in input.pod.spec.initContainers

allowed(image) if {
	some prefix in input.parameters.prefixes
	startswith(image, prefix)
}

deny contains {"msg": sprintf("container %%s uses %%s", [c.name, c.image]), "path": "/spec/containers"} if {
	some c in containers
	not allowed(c.image)
}

deny contains {"msg": sprintf("container %%s lacks label %[1]d", [c.name])} if {
	some c in containers
	c.securityContext.privileged
}

warn contains "no limits" if {
	some c in containers
	not c.resources.limits
}
`

func benchmarkPolicy(n int) *v1alpha1.ClusterRegoPolicy {
	p := podPolicy(fmt.Sprintf(benchmarkRule, n))
	p.Name = fmt.Sprintf("bench-%d", n)
	p.Spec.Parameters = &apiextensionsv1.JSON{
		Raw: []byte(`{"prefixes": ["registry.one/", "registry.two/", "example.com/"]}`)}
	return p
}

// bigPod is a Pod of about 10 KB as JSON.
func bigPod() *policy.Request {
	r := podRequest()
	var containers []any
	for i := range 8 {
		var env []any
		for j := range 16 {
			env = append(env, map[string]any{
				"name": fmt.Sprintf("VARIABLE_%d_%d", i, j), "value": strings.Repeat("v", 24)})
		}
		containers = append(containers, map[string]any{
			"name": fmt.Sprintf("container-%d", i), "image": "example.com/app:1.2.3", "env": env,
			"resources":       map[string]any{"limits": map[string]any{"cpu": "1", "memory": "1Gi"}},
			"securityContext": map[string]any{"privileged": false, "runAsUser": int64(1000)},
		})
	}
	r.Object["spec"] = map[string]any{"containers": containers}
	return r
}

// BenchmarkEvaluate measures one request from object to 27 decisions, by each engine. Compare it
// with BenchmarkNaive of the same run.
func BenchmarkEvaluate(b *testing.B) {
	var policies []*rego.Compiled
	for n := range benchmarkPolicies {
		policies = append(policies, compile(b, benchmarkPolicy(n)))
	}
	benchmarkEngines(b, policies)
}

func benchmarkEngines(b *testing.B, policies []*rego.Compiled) {
	b.Helper()
	r := bigPod()
	for _, engine := range []rego.Engine{rego.Topdown, rego.CompiledEngine} {
		var on []*rego.Compiled
		for _, c := range policies {
			if on = append(on, c.On(engine)); on[len(on)-1].WhyTopdown() != nil {
				b.Fatal(on[len(on)-1].WhyTopdown())
			}
		}
		b.Run(string(engine), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				in := input(b, r)
				for _, c := range on {
					if d := c.Evaluate(b.Context(), in, time.Minute); !d.Clean() {
						b.Fatalf("%+v", d)
					}
				}
			}
		})
	}
}

const gatheringRule = `package bench%[1]d

import rego.v1

names := {c.name | some c in input.pod.spec.containers}

images[name] := [c.image | some c in input.pod.spec.containers; c.name == name] if some name in names

variables := {c.name: [v.name | some v in c.env] | some c in input.pod.spec.containers}

limited := [c | some c in input.pod.spec.containers; c.resources.limits]

deny contains sprintf("container %%s twice", [name]) if {
	some name, list in images
	count(list) > 1
}

deny contains sprintf("%%s: too many variables (%[1]d)", [name]) if {
	some name, list in variables
	count(list) > 100
}

warn contains "no limits" if count(limited) < count(names)
`

// BenchmarkEvaluateGathering is BenchmarkEvaluate with rules that gather much.
func BenchmarkEvaluateGathering(b *testing.B) {
	var policies []*rego.Compiled
	for n := range benchmarkPolicies {
		p := podPolicy(fmt.Sprintf(gatheringRule, n))
		p.Name = fmt.Sprintf("bench-%d", n)
		policies = append(policies, compile(b, p))
	}
	benchmarkEngines(b, policies)
}

// BenchmarkEvaluatePrepared is the same use of rego's own prepared queries: the
// object is converted for each policy.
func BenchmarkEvaluatePrepared(b *testing.B) {
	var queries []oparego.PreparedEvalQuery
	for n := range benchmarkPolicies {
		query, err := naive(n).PrepareForEval(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		queries = append(queries, query)
	}
	document := naiveInput(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, query := range queries {
			if _, err := query.Eval(b.Context(), oparego.EvalInput(document)); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkNaive is what a first attempt looks like: a query parsed, compiled and
// run for each policy and request.
func BenchmarkNaive(b *testing.B) {
	document := naiveInput(b)
	b.ReportAllocs()
	for b.Loop() {
		for n := range benchmarkPolicies {
			query := naive(n, oparego.Input(document))
			if _, err := query.Eval(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func naive(n int, options ...func(*oparego.Rego)) *oparego.Rego {
	return oparego.New(append(options,
		oparego.Query(fmt.Sprintf("data.bench%d", n)),
		oparego.Module("bench.rego", fmt.Sprintf(benchmarkRule, n)))...)
}

func naiveInput(b *testing.B) map[string]any {
	b.Helper()
	r := bigPod()
	text, err := json.Marshal(r.Object)
	if err != nil {
		b.Fatal(err)
	}
	if len(text) < 9_000 || len(text) > 12_000 {
		b.Fatalf("the Pod has %d bytes", len(text))
	}
	return map[string]any{
		"object": r.Object, "pod": r.Object, "request": map[string]any{"object": r.Object},
		"parameters": map[string]any{"prefixes": []any{"registry.one/", "registry.two/", "example.com/"}},
	}
}
