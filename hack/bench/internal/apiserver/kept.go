// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
)

// kept are objects of one kind that clients create and patch.
type kept struct {
	kind *Kind

	mu      sync.Mutex
	version int
	objects map[string]map[string]any
	// events are all that were ever made, as their lines; made is closed and made anew when there is another one.
	events []string
	made   chan struct{}
}

func newKept(k *Kind) *kept {
	return &kept{kind: k, objects: map[string]map[string]any{}, made: make(chan struct{})}
}

func (k *kept) list(w http.ResponseWriter) {
	k.mu.Lock()
	items := make([]any, 0, len(k.objects))
	for _, name := range slices.Sorted(maps.Keys(k.objects)) {
		items = append(items, k.objects[name])
	}
	version := k.version
	k.mu.Unlock()
	answer(w, http.StatusOK, map[string]any{"kind": k.kind.Kind + "List", "apiVersion": k.kind.groupVersion(),
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(version)}, "items": items})
}

// watch sends every object where a list is asked for, and then each change until the client goes.
func (k *kept) watch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	lines, sent := k.begin(r)
	ends := watchEnds(r)
	for {
		for _, line := range lines {
			if _, err := w.Write([]byte(line)); err != nil {
				return
			}
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
		k.mu.Lock()
		lines = slices.Clone(k.events[sent:])
		sent = len(k.events)
		made := k.made
		k.mu.Unlock()
		if len(lines) > 0 {
			continue
		}
		select {
		case <-made:
		case <-r.Context().Done():
			return
		case <-ends:
			return
		}
	}
}

// begin is what a watch begins with, and how many events have been sent by that.
func (k *kept) begin(r *http.Request) (lines []string, sent int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		for _, name := range slices.Sorted(maps.Keys(k.objects)) {
			lines = append(lines, event("ADDED", k.objects[name]))
		}
		return append(lines, bookmark(k.kind, strconv.Itoa(k.version))), len(k.events)
	}
	// Each version is one event.
	if since, err := strconv.Atoi(r.URL.Query().Get("resourceVersion")); err == nil && since > 0 {
		return nil, min(since, len(k.events))
	}
	return nil, len(k.events)
}

func event(verb string, object map[string]any) string {
	raw, err := json.Marshal(map[string]any{"type": verb, "object": object})
	if err != nil { // it was read from JSON
		return ""
	}
	return string(raw) + "\n"
}

func (k *kept) create(w http.ResponseWriter, r *http.Request) {
	if k.kind.Forgets {
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		w.WriteHeader(http.StatusCreated)
		// Who has gone needs no answer.
		_, _ = io.Copy(w, r.Body)
		return
	}
	object, ok := read(w, r)
	if !ok {
		return
	}
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	if name == "" {
		refuse(w, http.StatusBadRequest, "it has no name")
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	object["kind"], object["apiVersion"] = k.kind.Kind, k.kind.groupVersion()
	metadata["uid"], metadata["generation"] = fmt.Sprintf("7c0d1e2f-0000-4000-8000-%012d", k.version), 1
	k.store("ADDED", name, object)
	answer(w, http.StatusCreated, object)
}

// patch is a merge patch, of the object or of its status. One that has a spec makes a new generation.
func (k *kept) patch(w http.ResponseWriter, r *http.Request, name string) {
	change, ok := read(w, r)
	if !ok {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	before, found := k.objects[name]
	if !found {
		refuse(w, http.StatusNotFound, fmt.Sprintf("there is no %s %q", k.kind.Kind, name))
		return
	}
	after, _ := merge(before, change).(map[string]any)
	if _, changed := change["spec"]; changed {
		metadata, _ := after["metadata"].(map[string]any)
		generation, _ := metadata["generation"].(int)
		after["metadata"] = merge(metadata, map[string]any{"generation": generation + 1})
	}
	k.store("MODIFIED", name, after)
	answer(w, http.StatusOK, after)
}

// store keeps an object in its next version, and tells who watches. It is called under the lock.
func (k *kept) store(verb, name string, object map[string]any) {
	k.version++
	old, _ := object["metadata"].(map[string]any)
	metadata := maps.Clone(old)
	object["metadata"] = metadata
	metadata["resourceVersion"] = strconv.Itoa(k.version)
	k.objects[name] = object
	k.events = append(k.events, event(verb, object))
	close(k.made)
	k.made = make(chan struct{})
}

// merge is RFC 7396: neither of the two is changed.
func merge(before, change any) any {
	with, isObject := change.(map[string]any)
	if !isObject {
		return change
	}
	old, _ := before.(map[string]any)
	out := maps.Clone(old)
	if out == nil {
		out = map[string]any{}
	}
	for name, value := range with {
		if value == nil {
			delete(out, name)
			continue
		}
		out[name] = merge(out[name], value)
	}
	return out
}
