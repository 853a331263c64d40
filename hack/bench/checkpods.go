// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// benchTemplates times evenkeel check beside gator test by the rules of Pods, over manifests of Pods. Both take the
// ConstraintTemplates and constraints as they are.
func benchTemplates(ctx context.Context, o options) error {
	work, err := os.MkdirTemp("", "evenkeel-templates-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	rules, manifests := filepath.Join(work, "rules"), filepath.Join(work, "pods")
	if err := os.MkdirAll(rules, 0o755); err != nil {
		return err
	}
	count, err := writePodRules(filepath.Join(rules, "rules.yaml"))
	if err != nil {
		return err
	}
	if err := writePodManifests(manifests, o.objects, o.seed); err != nil {
		return err
	}
	both, err := templateTools(ctx, o.cache, work, rules, manifests)
	if err != nil {
		return err
	}
	found, err := agree(ctx, both)
	if err != nil {
		return err
	}
	fmt.Printf("%d manifests of Pods; both find the same %d violations\n", o.objects, found)
	results, err := measure(ctx, both, o.runs)
	if err != nil {
		return err
	}
	text := table(results, fmt.Sprintf("%d manifests of Pods, %d ConstraintTemplates with a constraint each, "+
		"%d violations, found alike by both", o.objects, count, found))
	fmt.Print("\n", text)
	if o.table == "" {
		return nil
	}
	return replaceTable(o.table, "bench-templates", text)
}

func templateTools(ctx context.Context, cache, work, rules, manifests string) ([]tool, error) {
	_, own, gator, err := buildCheckers(ctx, cache, work)
	if err != nil {
		return nil, err
	}
	return []tool{
		{"evenkeel check", "this commit", []string{own, "check", "-p", rules, "-o", "json", manifests}, ownMessages},
		{"gator test", gatorVersion, []string{gator, "test", "--filename", rules, "--filename", manifests,
			"--output", "json"}, gatorMessages},
	}, nil
}

// writePodManifests writes one file for each Pod, as people write them: without what the API server adds.
func writePodManifests(dir string, count int, seed uint64) error {
	e := estate{rand.New(rand.NewPCG(seed, seed))}
	for n := range count {
		pod := wholePod(n, func(of int) bool { return n > 0 && e.IntN(of) == 0 })
		metadata, _ := pod["metadata"].(map[string]any)
		for _, added := range []string{"uid", "creationTimestamp", "managedFields", "ownerReferences"} {
			delete(metadata, added)
		}
		name, _ := metadata["name"].(string)
		file := filepath.Join(dir, fmt.Sprintf("app-%03d", n/10), name+".yaml")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(yamlOf(pod)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// yamlOf writes an object in block style, texts in quotes.
func yamlOf(object map[string]any) string {
	var b strings.Builder
	block(&b, object, "")
	return b.String()
}

// block writes a value of which the first line has its indent already.
func block(b *strings.Builder, value any, indent string) {
	switch v := value.(type) {
	case map[string]any:
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b.WriteString(indent)
			}
			b.WriteString(scalar(name) + ":")
			nested(b, v[name], indent+"  ")
		}
	case []any:
		for i, item := range v {
			if i > 0 {
				b.WriteString(indent)
			}
			b.WriteString("- ")
			if plain(item) {
				b.WriteString(scalar(item) + "\n")
				continue
			}
			block(b, item, indent+"  ")
		}
	}
}

// nested writes the value of a field.
func nested(b *strings.Builder, value any, indent string) {
	if plain(value) {
		b.WriteString(" " + scalar(value) + "\n")
		return
	}
	b.WriteString("\n" + indent)
	block(b, value, indent)
}

// plain says that a value is written on one line.
func plain(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return true
}

// scalar is a value on one line: words need no quotes, and JSON is YAML.
func scalar(value any) string {
	text, isText := value.(string)
	if isText && text != "" && strings.Trim(text, letters) == "" && !slices.Contains(notText(), strings.ToLower(text)) {
		return text
	}
	raw, err := json.Marshal(value)
	if err != nil { // it was made of JSON's own types
		return ""
	}
	return string(raw)
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// notText are the words that YAML takes for something else.
func notText() []string { return []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"} }
