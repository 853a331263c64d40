// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// podRules are rules of Gatekeeper that each match a Pod, as long and as costly as those of a public library, with
// their parameters by the name of the rule, and a Pod.
//
//go:embed pods
var podRules embed.FS

// writePodRules writes a ConstraintTemplate and a constraint for each rule. It returns how many there are.
func writePodRules(file string) (count int, err error) {
	raw, err := podRules.ReadFile("pods/parameters.json")
	if err != nil {
		return 0, err
	}
	var parameters map[string]any
	if err := json.Unmarshal(raw, &parameters); err != nil {
		return 0, fmt.Errorf("pods/parameters.json: %w", err)
	}
	files, err := fs.Glob(podRules, "pods/*.rego")
	if err != nil {
		return 0, err
	}
	var text []byte
	for _, path := range files {
		source, err := podRules.ReadFile(path)
		if err != nil {
			return 0, err
		}
		name := strings.TrimSuffix(filepath.Base(path), ".rego")
		if text, err = appendDocuments(text, podRule(name, string(source), parameters[name])...); err != nil {
			return 0, err
		}
	}
	return len(files), os.WriteFile(file, text, 0o600)
}

// appendDocuments appends objects as documents of YAML.
func appendDocuments(to []byte, objects ...map[string]any) ([]byte, error) {
	for _, object := range objects {
		raw, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		to = fmt.Appendf(to, "---\n%s\n", raw)
	}
	return to, nil
}

func podRule(name, rego string, parameters any) []map[string]any {
	kind := strings.ToUpper(name[:1]) + name[1:]
	spec := map[string]any{
		"match": map[string]any{"kinds": []any{map[string]any{"apiGroups": []any{""}, "kinds": []any{"Pod"}}}}}
	if parameters != nil {
		spec["parameters"] = parameters
	}
	return []map[string]any{
		{"apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
			"metadata": map[string]any{"name": name},
			"spec": map[string]any{
				"crd": map[string]any{"spec": map[string]any{"names": map[string]any{"kind": kind},
					"validation": map[string]any{"openAPIV3Schema": map[string]any{"type": "object",
						"x-kubernetes-preserve-unknown-fields": true}}}},
				"targets": []any{map[string]any{"target": "admission.k8s.gatekeeper.sh", "rego": rego}}}},
		{"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind, "metadata": map[string]any{"name": name},
			"spec": spec},
	}
}

// writePodReviews writes AdmissionReviews for the creation of Pods, one a line, the same ones for the same seed. The
// first Pod violates nothing; clean says that none does. It returns the average size of one, in bytes.
func writePodReviews(file string, count int, seed uint64, clean bool) (int, error) {
	random := rand.New(rand.NewPCG(seed, seed))
	var text bytes.Buffer
	for n := range count {
		pod, err := wholePod(func(_ int, d departure) bool { return n > 0 && !clean && random.IntN(d.In) == 0 })
		if err != nil {
			return 0, err
		}
		set(pod, nil, "status")
		raw, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
			"request": map[string]any{"uid": fmt.Sprintf("705ab4f5-6393-11e8-b7cc-%012d", n), "operation": "CREATE",
				"kind":      map[string]any{"group": "", "version": "v1", "kind": "Pod"},
				"resource":  map[string]any{"group": "", "version": "v1", "resource": "pods"},
				"namespace": "@namespace@", "name": "@pod@", "object": pod, "oldObject": nil,
				"userInfo": map[string]any{"username": "jane", "groups": []any{"system:authenticated"}},
				"options":  map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"}, "dryRun": false}})
		if err != nil {
			return 0, err
		}
		text.WriteString(marked(n, n, "shop").Replace(string(raw)) + "\n")
	}
	return text.Len() / count, os.WriteFile(file, text.Bytes(), 0o600)
}

// set sets a field in an object, or removes it if the value is nil. A number in the path is the index in a list, of
// which the first free one appends.
func set(in any, value any, path ...string) any {
	if len(path) == 0 {
		return value
	}
	switch v := in.(type) {
	case map[string]any:
		if value == nil && len(path) == 1 {
			delete(v, path[0])
			return v
		}
		v[path[0]] = set(v[path[0]], value, path[1:]...)
	case []any:
		at, err := strconv.Atoi(path[0])
		if err != nil || at > len(v) {
			panic(fmt.Sprintf("no index of %d elements: %s", len(v), path[0])) // the paths are constants
		}
		if at == len(v) {
			v = append(v, nil)
		}
		v[at] = set(v[at], value, path[1:]...)
		return v
	}
	return in
}

// departure is one of pods/departures.yaml.
type departure struct {
	Path   string
	Value  any
	In     int
	Broken bool
}

// wholePod is pods/pod.yaml with its marks. It has the departures that has wants for the ith container, from 0, and for
// the Pod itself, -1.
func wholePod(has func(i int, d departure) bool) (map[string]any, error) {
	var pod map[string]any
	var departures struct{ Pod, Container []departure }
	for file, into := range map[string]any{"pods/pod.yaml": &pod, "pods/departures.yaml": &departures} {
		text, err := podRules.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := yaml.Unmarshal(text, into); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	depart := func(i int, object any, all []departure) {
		for _, d := range all {
			if has(i, d) {
				set(object, d.Value, strings.Fields(d.Path)...)
			}
		}
	}
	spec, _ := pod["spec"].(map[string]any)
	raw, err := json.Marshal(spec["containers"].([]any)[0])
	if err != nil {
		return nil, err
	}
	containers := make([]any, 4)
	for i := range containers {
		if err := json.Unmarshal(raw, &containers[i]); err != nil {
			return nil, err
		}
		set(containers[i], fmt.Sprintf("@application@-c%d", i), "name")
		set(containers[i], 8080+i, "ports", "0", "containerPort")
		depart(i, containers[i], departures.Container)
	}
	spec["containers"], spec["initContainers"] = containers[:3], containers[3:]
	depart(-1, pod, departures.Pod)
	fields := map[string]any{}
	for i := range 30 {
		fields[fmt.Sprintf("k:{\"name\":\"SETTING_%d\"}", i)] = map[string]any{".": map[string]any{},
			"f:name": map[string]any{}, "f:value": map[string]any{}}
	}
	set(pod, []any{map[string]any{"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1",
		"time": "2026-01-07T08:00:00Z", "fieldsType": "FieldsV1",
		"fieldsV1": map[string]any{"f:spec": map[string]any{"f:containers": fields}}}}, "metadata", "managedFields")
	return pod, nil
}
