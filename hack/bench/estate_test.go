// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
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

// writeEstate writes the rules (rules/all.yaml), count objects of a seed (objects/all.yaml), and the requests that the
// API server sends on them (reviews, one a line). It returns how many requests there are.
func writeEstate(in func(string) string, count int, seed uint64) (asked int, err error) {
	e := estate{rand.New(rand.NewPCG(seed, seed))}
	objects := e.objects(count)
	made := reviewsOf(e.Rand, objects, e.again)
	documents, err := appendDocuments(nil, objects...)
	if err != nil {
		return 0, err
	}
	var lines []byte
	for _, review := range made {
		raw, err := json.Marshal(review)
		if err != nil {
			return 0, err
		}
		lines = append(append(lines, raw...), '\n')
	}
	for file, content := range map[string][]byte{"rules/all.yaml": estateRules, "objects/all.yaml": documents,
		"reviews": lines} {
		if err := os.MkdirAll(filepath.Dir(in(file)), 0o755); err != nil {
			return 0, err
		}
		if err := os.WriteFile(in(file), content, 0o600); err != nil {
			return 0, err
		}
	}
	return len(made), nil
}

// objects are the namespaces, what rules look up besides, and count others.
func (e estate) objects(count int) (all []map[string]any) {
	for _, name := range estateNamespaces() {
		all = append(all, e.object("v1", "Namespace", "", name))
	}
	for _, class := range []string{"public", "internal"} {
		all = append(all, e.object("networking.k8s.io/v1", "IngressClass", "", class))
	}
	for n := range count {
		all = append(all, e.next(n))
	}
	return all
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
	kinds := []string{"Pod", "ConfigMap", "Service", "Ingress", "ClusterRole"}
	return e.of(kinds[e.IntN(len(kinds))], namespace, name)
}

// again is an object of the same kind and name, which differs from it by chance, as after an update.
func (e estate) again(object map[string]any) map[string]any {
	kind, _ := object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	return e.of(kind, namespace, name)
}

func (e estate) of(kind, namespace, name string) map[string]any {
	switch kind {
	case "Pod":
		return e.with(e.object("v1", kind, namespace, name), "spec", e.pod())
	case "ConfigMap":
		return e.with(e.object("v1", kind, namespace, name), "data", e.data())
	case "Service":
		return e.with(e.object("v1", kind, namespace, name), "spec", map[string]any{"ports": e.ports()})
	case "Ingress":
		return e.with(e.object("networking.k8s.io/v1", kind, namespace, name), "spec", e.ingress())
	case "ClusterRole":
		return e.with(e.object("rbac.authorization.k8s.io/v1", kind, "", name), "rules", []any{})
	case "IngressClass":
		return e.object("networking.k8s.io/v1", kind, "", name)
	default:
		return e.object("v1", kind, "", name)
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

func TestAnEstateIsTheSameForTheSameSeed(t *testing.T) {
	written := func(seed uint64) string {
		b := &bench{work: t.TempDir()}
		asked, err := writeEstate(b.in, 100, seed)
		if err != nil || asked < 300 {
			t.Fatalf("%d reviews, %v", asked, err)
		}
		return content(t, b.in("objects/all.yaml"), b.in("reviews"))
	}
	if first := written(1); first != written(1) || first == written(2) {
		t.Error("a seed doesn't decide which objects there are")
	}
}
