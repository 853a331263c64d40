// SPDX-License-Identifier: Apache-2.0

package action

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"evenkeel.dev/evenkeel/internal/policy"
)

const (
	// maxPlaces bounds the places of a fingerprint: what lies deeper is told as a whole.
	maxPlaces = 128
	// hashBytes is how much is kept of the hash of a place, and of its value.
	hashBytes = 4
)

// Fingerprint tells where an object differs from what it was to be, without holding it.
type Fingerprint struct {
	// Digest is the SHA-256, in hex, of all that DiffStep compares.
	Digest string
	// Places are the hashes of the places, outermost first, each with that of its value.
	Places []byte
}

// Difference is a place in which an object isn't what its fingerprint says.
type Difference struct {
	// Path is a JSON Pointer; empty when only the whole is known to differ.
	Path string
	// Added says that there was nothing; Removed, that something in it is gone.
	Added, Removed bool
}

// spot is one place of an object with its value.
type spot struct {
	token, path string
	value       any
}

// FingerprintOf makes the fingerprint of an object, or of its status.
func FingerprintOf(obj map[string]any, subresource string) (Fingerprint, error) {
	content := compared(obj, subresource)
	sum, err := sumOf(content)
	if err != nil {
		return Fingerprint{}, err
	}
	out, room := Fingerprint{Digest: hex.EncodeToString(sum)}, maxPlaces
	for level := []spot{{value: content}}; len(level) > 0; {
		var next []spot
		for _, outer := range level {
			inner := spotsIn(outer)
			if len(inner) > room {
				continue
			}
			room -= len(inner)
			next = append(next, inner...)
		}
		for _, at := range next {
			sum, err := sumOf(at.value)
			if err != nil {
				return Fingerprint{}, err
			}
			out.Places = append(append(out.Places, hashOf(at.path)...), sum[:hashBytes]...)
		}
		level = next
	}
	return out, nil
}

// Differences finds where an object differs from its fingerprint. A place that is gone is
// told as a change of what it was in.
func (f Fingerprint) Differences(obj map[string]any, subresource string) ([]Difference, error) {
	content := compared(obj, subresource)
	sum, err := sumOf(content)
	if err != nil || hex.EncodeToString(sum) == f.Digest {
		return nil, err
	}
	root, err := hex.DecodeString(f.Digest)
	if err != nil || len(root) < hashBytes {
		return []Difference{{}}, nil
	}
	at, err := f.compare(spot{value: content}, root[:hashBytes], true)
	if err == nil && len(at.added)+len(at.changed) == 0 {
		return []Difference{{}}, nil
	}
	return append(at.added, at.changed...), err
}

// outcome is what comes of comparing one place.
type outcome struct {
	// left is the value without what was added to it: is that what was expected, nothing
	// but the additions has changed.
	left           any
	added, changed []Difference
}

// compare compares one place, whose value is known to differ or not.
func (f Fingerprint) compare(at spot, want []byte, differs bool) (outcome, error) {
	if is, err := sumIs(at.value, want); err != nil || is && !differs {
		return outcome{left: at.value}, err
	}
	inner := spotsIn(at)
	opened := slices.ContainsFunc(inner, func(s spot) bool { return f.held(s.path) != nil })
	if empty, err := sumIs(without(at.value, nil), want); err != nil || !opened && !empty {
		return outcome{left: at.value, changed: []Difference{{Path: at.path}}}, err
	}
	return f.compareInner(at, inner, want)
}

// compareInner compares the places right within another.
func (f Fingerprint) compareInner(at spot, inner []spot, want []byte) (outcome, error) {
	var out outcome
	var kept []spot
	for _, one := range inner {
		was := f.held(one.path)
		if was == nil {
			out.added = append(out.added, Difference{Path: one.path, Added: true})
			continue
		}
		found, err := f.compare(one, was, false)
		if err != nil {
			return out, err
		}
		one.value = found.left
		kept, out.added, out.changed = append(kept, one), append(out.added, found.added...),
			append(out.changed, found.changed...)
	}
	out.left = without(at.value, kept)
	as, err := sumIs(out.left, want)
	if !as && len(out.changed) == 0 {
		out.changed = append(out.changed, Difference{Path: at.path, Removed: true})
	}
	return out, err
}

// held is the hash of what a place held; nil when there was nothing, or it isn't told.
func (f Fingerprint) held(path string) []byte {
	hash := hashOf(path)
	for entry := range slices.Chunk(f.Places, 2*hashBytes) {
		if len(entry) == 2*hashBytes && bytes.Equal(entry[:hashBytes], hash) {
			return entry[hashBytes:]
		}
	}
	return nil
}

// without is a container with nothing but some of its places.
func without(value any, kept []spot) any {
	switch value.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, s := range kept {
			out[s.token] = s.value
		}
		return out
	case []any:
		out := []any{}
		for _, s := range kept {
			out = append(out, s.value)
		}
		return out
	}
	return value
}

// spotsIn are the places right within another, in order.
func spotsIn(outer spot) []spot {
	var out []spot
	switch v := outer.value.(type) {
	case map[string]any:
		for _, token := range slices.Sorted(maps.Keys(v)) {
			out = append(out, spot{token, Join(outer.path, token), v[token]})
		}
	case []any:
		for i := range v {
			token := strconv.Itoa(i)
			out = append(out, spot{token, Join(outer.path, token), v[i]})
		}
	}
	return out
}

// compared is what DiffStep compares of an object. An object that is being deleted is
// told apart by nobody.
func compared(obj map[string]any, subresource string) map[string]any {
	if subresource == policy.StatusSubresource {
		out := map[string]any{}
		maps.Copy(out, statusOf(obj))
		return out
	}
	obj = Unmarked(obj)
	out := maps.Clone(obj)
	delete(out, "status")
	if metadata, ok := obj["metadata"].(map[string]any); ok {
		kept := maps.Clone(metadata)
		for key := range metadata {
			if serverOwned(Join("/metadata", key)) || key == "deletionTimestamp" ||
				key == "deletionGracePeriodSeconds" {
				delete(kept, key)
			}
		}
		out["metadata"] = kept
	}
	return out
}

func sumIs(value any, want []byte) (bool, error) {
	sum, err := sumOf(value)
	return err == nil && bytes.Equal(sum[:hashBytes], want), err
}

func sumOf(value any) ([]byte, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode an object: %w", err)
	}
	sum := sha256.Sum256(raw)
	return sum[:], nil
}

func hashOf(path string) []byte {
	sum := sha256.Sum256([]byte(path))
	return sum[:hashBytes]
}
