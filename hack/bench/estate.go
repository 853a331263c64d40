// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// estateRules are ConstraintTemplates and constraints that use each feature of Gatekeeper's Rego engine.
//
//go:embed estate/rules.yaml
var estateRules []byte

// estateNamespaces are those that the objects live in; rules choose among them by name and by label.
func estateNamespaces() []string {
	return []string{"shop", "pay", "team-a", "team-b", "team-c", "kube-public"}
}

// estate makes objects by chance, the same ones for the same seed. Fields are missing, null or of another type than
// rules expect as often as not.
type estate struct{ *rand.Rand }

func (e estate) one(of ...any) any { return of[e.IntN(len(of))] }

// writeEstate writes the rules, and count objects of a seed, into two folders.
func writeEstate(rules, objects string, count int, seed uint64) error {
	e := estate{rand.New(rand.NewPCG(seed, seed))}
	var text bytes.Buffer
	write := func(object map[string]any) error {
		raw, err := json.Marshal(object)
		fmt.Fprintf(&text, "---\n%s\n", raw)
		return err
	}
	for _, name := range estateNamespaces() {
		if err := write(e.object("v1", "Namespace", "", name)); err != nil {
			return err
		}
	}
	for _, class := range []string{"public", "internal"} {
		if err := write(e.object("networking.k8s.io/v1", "IngressClass", "", class)); err != nil {
			return err
		}
	}
	for n := range count {
		if err := write(e.next(n)); err != nil {
			return err
		}
	}
	for dir, content := range map[string][]byte{rules: estateRules, objects: text.Bytes()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "all.yaml"), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// object is one with labels by chance; without a namespace it is one of the cluster.
func (e estate) object(apiVersion, kind, namespace, name string) map[string]any {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	labels := map[string]any{}
	for _, label := range []string{"app", "team", "owner", "tier", "legacy", "stage"} {
		if e.IntN(2) == 0 {
			labels[label] = e.one("red", "blue", "web", "Bob", "42", "production")
		}
	}
	if len(labels) > 0 || e.IntN(2) == 0 {
		metadata["labels"] = labels
	}
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
}

// next is the nth object.
func (e estate) next(n int) map[string]any {
	namespace := estateNamespaces()[e.IntN(len(estateNamespaces()))]
	name := fmt.Sprintf("%v-%d", e.one("web", "store", "job"), n)
	switch e.IntN(5) {
	case 0:
		return e.with(e.object("v1", "Pod", namespace, name), "spec", e.pod())
	case 1:
		return e.with(e.object("v1", "ConfigMap", namespace, name), "data", e.data())
	case 2:
		return e.with(e.object("v1", "Service", namespace, name), "spec", map[string]any{"ports": e.ports()})
	case 3:
		return e.with(e.object("networking.k8s.io/v1", "Ingress", namespace, name), "spec", e.ingress())
	default:
		return e.with(e.object("rbac.authorization.k8s.io/v1", "ClusterRole", "", name), "rules", []any{})
	}
}

func (e estate) with(object map[string]any, field string, value any) map[string]any {
	object[field] = value
	return object
}

func (e estate) pod() map[string]any {
	containers := func(most int) []any {
		out := []any{}
		for i := range e.IntN(most + 1) {
			c := map[string]any{"name": fmt.Sprintf("c%d", i), "image": e.one("registry.example.com/shop/web:1",
				"registry.example.com/base", "docker.io/library/nginx", "quay.io/x/y@sha256:abc", "nginx")}
			switch e.IntN(4) {
			case 0:
				c["resources"] = map[string]any{"limits": map[string]any{}}
			case 1, 2:
				c["resources"] = map[string]any{"limits": map[string]any{"memory": e.one("64Mi", "512Mi", "1Gi", "2G",
					"1.5Gi", "xMi", 1024)}}
			}
			out = append(out, c)
		}
		return out
	}
	spec := map[string]any{"containers": containers(3)}
	if e.IntN(2) == 0 {
		spec["initContainers"] = containers(2)
	}
	return spec
}

func (e estate) data() map[string]any {
	data := map[string]any{}
	for _, of := range []struct {
		field  string
		values []any
	}{
		{"count", []any{"1", "5", "3.5", "1e2", "x", "", " 7", "0x10"}},
		{"settings", []any{`{"replicas": 3}`, `{"replicas": 0}`, `{"replicas": "3"}`, `{`, "null",
			`{"replicas": 7, "replicas": 5}`}},
		{"address", []any{"10.1.2.3", "192.168.0.1", "10.1.2", "a.b.c", "", "250.10.0.1"}},
	} {
		if e.IntN(4) > 0 {
			data[of.field] = e.one(of.values...)
		}
	}
	return data
}

func (e estate) ports() []any {
	out := []any{}
	for range e.IntN(5) {
		out = append(out, map[string]any{"port": e.one(80, 443, 8080, 22, 9000, 81)})
	}
	return out
}

func (e estate) ingress() map[string]any {
	rules := []any{}
	for range e.IntN(3) {
		rules = append(rules, map[string]any{"host": fmt.Sprintf("h%d.example.com", e.IntN(300))})
	}
	spec := map[string]any{"rules": rules}
	if e.IntN(3) > 0 {
		spec["ingressClassName"] = e.one("public", "internal", "none")
	}
	return spec
}
