// SPDX-License-Identifier: Apache-2.0

package action

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	// maxChange bounds the text of a change, in bytes, and maxShown how much of a value it
	// shows, in characters.
	maxChange = 2048
	maxShown  = 200
)

// Change is one write as whoever approves it is told of it.
type Change struct {
	Step Step
	// Removed is the object that a step removes; nil for other steps.
	Removed map[string]any
	// Fields are what a patch changes, as the server-side dry run answered; Keys the names
	// of the list elements that they lie in.
	Fields []Field
	Keys   []policy.PatchOp
}

// DigestOf is the SHA-256, in hex, of all that a fix writes, with the values before it:
// another value before or after it, another place or another container gives another one.
// The time of a restart doesn't count. Alike is the same of all but the names of the list elements:
// it is equal where people would call the changes equal.
func DigestOf(apiVersion, kind string, changes []Change) (digest, alike string, err error) {
	if digest, err = digestOf(apiVersion, kind, changes); err != nil {
		return "", "", err
	}
	nameless := slices.Clone(changes)
	for i := range nameless {
		nameless[i].Keys = nil
	}
	alike, err = digestOf(apiVersion, kind, nameless)
	return digest, alike, err
}

func digestOf(apiVersion, kind string, changes []Change) (string, error) {
	type write struct {
		Type        string           `json:"type"`
		Subresource string           `json:"subresource,omitempty"`
		Object      map[string]any   `json:"object,omitempty"`
		Fields      []map[string]any `json:"fields,omitempty"`
		Keys        [][2]any         `json:"keys,omitempty"`
	}
	var writes []write
	for _, c := range changes {
		w := write{Type: c.Step.Verb(), Subresource: c.Step.Subresource}
		if c.Step.Type.Creates() {
			w.Object = c.Step.Object
		} else if c.Removed != nil {
			w.Object = Content(c.Removed)
		}
		for _, f := range c.Fields {
			for _, leaf := range leaves(f) {
				field := map[string]any{"path": leaf.Path}
				if leaf.HasBefore {
					field["before"] = leaf.Before
				}
				if leaf.HasAfter {
					field["after"] = timeless(leaf.Path, leaf.After)
				}
				w.Fields = append(w.Fields, field)
			}
		}
		for _, key := range c.Keys {
			w.Keys = append(w.Keys, [2]any{key.Path, key.Value})
		}
		writes = append(writes, w)
	}
	raw, err := json.Marshal([]any{apiVersion, kind, writes})
	if err != nil {
		return "", fmt.Errorf("encode what is to be approved: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// leaves are the fields within a map that is added or removed whole, in order; else the field itself. Whether others
// have made the map meanwhile is no change of what is written into it.
func leaves(f Field) []Field {
	whole, side := f.After, f.HasAfter && !f.HasBefore
	if f.HasBefore && !f.HasAfter {
		whole, side = f.Before, true
	}
	parts, is := whole.(map[string]any)
	if !side || !is || len(parts) == 0 {
		return []Field{f}
	}
	var out []Field
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		part := Field{Path: Join(f.Path, key), HasBefore: f.HasBefore, HasAfter: f.HasAfter}
		if f.HasBefore {
			part.Before = parts[key]
		} else {
			part.After = parts[key]
		}
		out = append(out, leaves(part)...)
	}
	return out
}

// timeless leaves the time out of what restarts Pods: it is known at the write alone.
func timeless(path string, value any) any {
	if tokens := Tokens(path); tokens[len(tokens)-1] == RestartedAt {
		return "the time of the write"
	}
	parts, ok := value.(map[string]any)
	if !ok {
		return value
	}
	out := make(map[string]any, len(parts))
	for key, part := range parts {
		out[key] = timeless(Join(path, key), part)
	}
	return out
}

// Tell writes what a fix does, a line for each field, without the object's name: what is
// the same of many objects is told once. Values of Secrets are censored; values says
// whether others are told.
func Tell(changes []Change, values bool, secrets policy.Secrets) string {
	var lines []string
	for _, c := range changes {
		switch {
		case c.Step.Type.Creates():
			lines = append(lines, tellCreated(c.Step.Object, values)...)
		case c.Step.Type.Removes():
			lines = append(lines, c.Step.Verb()+" the object")
		default:
			for _, f := range c.Fields {
				lines = append(lines, prose.OneLine(tellField(c.Step.Subresource, f, values)))
			}
		}
	}
	return prose.ShortenLines(secrets.Redact(strings.Join(lines, "\n")+"\n"), maxChange)
}

func tellField(subresource string, f Field, values bool) string {
	path := f.Path
	if subresource != "" {
		path += " (subresource " + subresource + ")"
	}
	switch {
	case values:
		after := tellValue(timeless(f.Path, f.After), f.HasAfter)
		return fmt.Sprintf("%s: %s → %s", path, tellValue(f.Before, f.HasBefore), after)
	case !f.HasBefore:
		return path + ": added (values of this kind aren't shown)"
	case !f.HasAfter:
		return path + ": removed (values of this kind aren't shown)"
	}
	return path + ": changed (values of this kind aren't shown)"
}

func tellValue(value any, has bool) string {
	if !has {
		return "(no field)"
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return "(a value that can't be written)"
	}
	return prose.ShortenCharacters(prose.OneLine(string(raw)), maxShown)
}

// tellCreated writes an object that is to be created.
func tellCreated(object map[string]any, values bool) []string {
	kind, _ := object["kind"].(string)
	name, _ := Lookup(object, "/metadata/name")
	head := prose.OneLine(fmt.Sprintf("create %s %v", kind, name))
	censored, _ := policy.CensorPair(object, nil)
	raw, err := yaml.Marshal(censored)
	if !values || err != nil {
		return []string{head + " (what it holds isn't shown)"}
	}
	lines := []string{head + ":"}
	for line := range strings.Lines(string(raw)) {
		lines = append(lines, "  "+prose.OneLine(strings.TrimRight(line, "\n")))
	}
	return lines
}
