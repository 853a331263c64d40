// SPDX-License-Identifier: Apache-2.0

// Package apiserver serves as much of Kubernetes' API as a scan asks for: discovery, lists in pages, and watches
// that begin with a list and end it with a bookmark. Objects are generated as they are sent, so that a hundred thousand
// of them take no memory. It checks no permissions, and what clients create is answered and not kept. Start at New.
package apiserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Objects are the generated objects of a kind, in the order in which they are listed. They never change.
type Objects interface {
	Len() int
	// Append appends the JSON of the nth object, from 0. It is safe for concurrent use.
	Append(to []byte, n int) []byte
}

// Kind is a resource that is served.
type Kind struct {
	Group, Version, Kind, Resource string
	Namespaced                     bool
	// Objects are those there are; nil for none.
	Objects Objects
}

func (k *Kind) count() int {
	if k.Objects == nil {
		return 0
	}
	return k.Objects.Len()
}

func (k *Kind) groupVersion() string { return strings.TrimPrefix(k.Group+"/"+k.Version, "/") }

func (k *Kind) path() string {
	if k.Group == "" {
		return "/api/" + k.Version
	}
	return "/apis/" + k.groupVersion()
}

// Server serves kinds.
type Server struct{ kinds []Kind }

// New serves the kinds. Those of one group are of one version.
func New(kinds ...Kind) *Server { return &Server{kinds} }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind := s.find(r.URL.Path)
	watch := r.URL.Query().Get("watch")
	switch {
	case kind == nil:
		s.discover(w, r)
	case r.Method == http.MethodPost:
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		w.WriteHeader(http.StatusCreated)
		_, _ = io.Copy(w, r.Body) // a client that has gone needs no answer
	case r.Method != http.MethodGet:
		refuse(w, http.StatusMethodNotAllowed, r.Method+" isn't served here")
	case watch == "true" || watch == "1":
		kind.watch(w, r)
	default:
		kind.list(w, r)
	}
}

// find is the kind that a path names: all objects of it, or those of a namespace.
func (s *Server) find(path string) *Kind {
	for i := range s.kinds {
		k := &s.kinds[i]
		rest, ours := strings.CutPrefix(path, k.path()+"/")
		parts := strings.Split(rest, "/")
		if k.Namespaced && len(parts) > 2 && parts[0] == "namespaces" {
			parts = parts[2:]
		}
		if ours && len(parts) == 1 && parts[0] == k.Resource {
			return k
		}
	}
	return nil
}

// discover lists the groups or the resources, in the form that all clients read.
func (s *Server) discover(w http.ResponseWriter, r *http.Request) {
	groups, resources, seen, groupVersion := []any{}, []any{}, map[string]bool{"": true}, ""
	for i := range s.kinds {
		k := &s.kinds[i]
		if !seen[k.Group] {
			seen[k.Group] = true
			version := map[string]any{"groupVersion": k.groupVersion(), "version": k.Version}
			groups = append(groups, map[string]any{"name": k.Group, "versions": []any{version},
				"preferredVersion": version})
		}
		if k.path() == r.URL.Path {
			groupVersion = k.groupVersion()
			resources = append(resources, map[string]any{"name": k.Resource, "kind": k.Kind, "namespaced": k.Namespaced,
				"singularName": "", "verbs": []string{"create", "get", "list", "patch", "watch"}})
		}
	}
	switch {
	case r.URL.Path == "/api":
		answer(w, http.StatusOK, map[string]any{"kind": "APIVersions", "versions": []string{"v1"}})
	case r.URL.Path == "/apis":
		answer(w, http.StatusOK, map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
	case len(resources) == 0:
		refuse(w, http.StatusNotFound, r.URL.Path+" isn't served here")
	default:
		answer(w, http.StatusOK, map[string]any{"kind": "APIResourceList", "apiVersion": "v1",
			"groupVersion": groupVersion, "resources": resources})
	}
}

// generation is the resource version of lists of generated objects.
const generation = "1000000"

// batch is how many bytes of a list are sent at once.
const batch = 1 << 16

// list answers with a page, as long as it was asked for. Clients fall back to lists if a watch fails.
func (k *Kind) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	from, _ := strconv.Atoi(query.Get("continue")) // no number asks for the first page, or for all of it
	until := k.count()
	if limit, _ := strconv.Atoi(query.Get("limit")); limit > 0 {
		until = min(from+limit, until)
	}
	next := ""
	if left := k.count() - until; left > 0 {
		next = fmt.Sprintf(`,"continue":"%d","remainingItemCount":%d`, until, left)
	}
	w.Header().Set("Content-Type", "application/json")
	text := fmt.Appendf(nil, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":%q%s},"items":[`,
		k.Kind, k.groupVersion(), generation, next)
	for n := from; n < until; n++ {
		if n > from {
			text = append(text, ',')
		}
		text = k.Objects.Append(text, n)
	}
	_, _ = w.Write(append(text, "]}\n"...)) // a client that has gone needs no end
}

// watch sends every object where a list is asked for, and then nothing: generated objects never change.
func (k *Kind) watch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	var text []byte
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		for n := range k.count() {
			text = append(text, `{"type":"ADDED","object":`...)
			text = append(k.Objects.Append(text, n), "}\n"...)
			if len(text) >= batch {
				if _, err := w.Write(text); err != nil {
					return
				}
				text = text[:0]
			}
		}
		text = append(text, bookmark(k, generation)...)
	}
	_, err := w.Write(text)
	if err == nil {
		err = http.NewResponseController(w).Flush()
	}
	if err != nil {
		return
	}
	<-r.Context().Done()
}

// bookmark is the event that ends a list which a watch begins with.
func bookmark(k *Kind, version string) string {
	return fmt.Sprintf(`{"type":"BOOKMARK","object":{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":%q,`+
		`"annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", k.Kind, k.groupVersion(), version)
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // a client that has gone needs no answer
}

func refuse(w http.ResponseWriter, code int, why string) {
	answer(w, code, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
		"message": why, "reason": strings.ReplaceAll(http.StatusText(code), " ", "")})
}
