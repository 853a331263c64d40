// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
)

// Objects are the generated objects of a kind, in the order in which they are listed. They never change.
type Objects interface {
	Len() int
	// Append appends the JSON of the nth object, from 0. It may be called at once by several.
	Append(to []byte, n int) []byte
}

// Kind is a resource that is served.
type Kind struct {
	Group, Version, Kind, Resource string
	Namespaced                     bool
	// Objects are generated; nil for a kind whose objects clients create.
	Objects Objects
	// Forgets says that what clients create is answered and not kept, such as events.
	Forgets bool
}

func (k *Kind) groupVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

func (k *Kind) path() string {
	if k.Group == "" {
		return "/api/" + k.Version
	}
	return "/apis/" + k.groupVersion()
}

// Use is what was asked for by one verb of one resource.
type Use struct {
	Requests int64 `json:"requests"`
	// Bytes are those of the bodies of the answers.
	Bytes int64 `json:"bytes"`
}

// Server serves kinds. It counts what is asked of each: GET UsePath gives that as a JSON object by verb and resource.
type Server struct {
	kinds []Kind
	// kept are the objects of those that clients create, by resource.
	kept map[string]*kept

	mu  sync.Mutex
	use map[string]Use
}

// UsePath is where a Server tells what was asked of it.
const UsePath = "/use"

// New serves the kinds, of which no two have the same resource.
func New(kinds ...Kind) *Server {
	s := &Server{kinds: kinds, kept: map[string]*kept{}, use: map[string]Use{}}
	for i := range kinds {
		if kinds[i].Objects == nil {
			s.kept[kinds[i].Resource] = newKept(&kinds[i])
		}
	}
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == UsePath {
		s.mu.Lock()
		use := maps.Clone(s.use)
		s.mu.Unlock()
		answer(w, http.StatusOK, use)
		return
	}
	kind, name := s.find(r.URL.Path)
	if kind == nil {
		s.discover(w, r)
		return
	}
	verb, serve := s.verb(kind, name, r)
	counted := &counter{ResponseWriter: w, add: func(n int) { s.count(verb+" "+kind.Resource, 0, n) }}
	s.count(verb+" "+kind.Resource, 1, 0)
	serve(counted)
}

// verb says what a request is, and how it is answered.
func (s *Server) verb(kind *Kind, name string, r *http.Request) (string, func(http.ResponseWriter)) {
	verb := verbOf(name, r)
	kept := s.kept[kind.Resource]
	answers := map[string]func(http.ResponseWriter){
		"watch": func(w http.ResponseWriter) { kind.watch(w, r) },
		"list":  func(w http.ResponseWriter) { kind.list(w, r) },
	}
	if kept != nil {
		answers = map[string]func(http.ResponseWriter){
			"watch":  func(w http.ResponseWriter) { kept.watch(w, r) },
			"list":   kept.list,
			"create": func(w http.ResponseWriter) { kept.create(w, r) },
			"patch":  func(w http.ResponseWriter) { kept.patch(w, r, name) },
		}
	}
	if answers[verb] == nil {
		return verb, func(w http.ResponseWriter) {
			refuse(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s of %s isn't served here", verb, kind.Resource))
		}
	}
	return verb, answers[verb]
}

// verbOf is what a request for an object of this name asks for, as RBAC calls it.
func verbOf(name string, r *http.Request) string {
	watch := r.URL.Query().Get("watch")
	switch {
	case r.Method == http.MethodPost:
		return "create"
	case r.Method != http.MethodGet:
		return strings.ToLower(r.Method)
	case watch == "true" || watch == "1":
		return "watch"
	case name == "":
		return "list"
	}
	return "get"
}

// find is the kind that a path speaks of, and the name of the object, if one is named.
func (s *Server) find(path string) (*Kind, string) {
	for i := range s.kinds {
		k := &s.kinds[i]
		rest, ours := strings.CutPrefix(path, k.path()+"/")
		if !ours {
			continue
		}
		parts := strings.Split(rest, "/")
		if k.Namespaced && len(parts) > 2 && parts[0] == "namespaces" {
			parts = parts[2:]
		}
		if parts[0] != k.Resource {
			continue
		}
		if len(parts) > 1 {
			return k, parts[1]
		}
		return k, ""
	}
	return nil, ""
}

func (s *Server) count(what string, requests, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.use[what]
	u.Requests, u.Bytes = u.Requests+int64(requests), u.Bytes+int64(bytes)
	s.use[what] = u
}

// counter tells how many bytes are written.
type counter struct {
	http.ResponseWriter
	add func(bytes int)
}

func (c *counter) Write(text []byte) (int, error) {
	n, err := c.ResponseWriter.Write(text)
	c.add(n)
	return n, err
}

// Unwrap lets http.ResponseController find what can be flushed.
func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// Who has gone needs no answer.
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, code int, why string) {
	answer(w, code, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
		"message": why, "reason": strings.ReplaceAll(http.StatusText(code), " ", "")})
}

func read(w http.ResponseWriter, r *http.Request) (object map[string]any, ok bool) {
	err := json.NewDecoder(r.Body).Decode(&object)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
	}
	return object, err == nil
}
