// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
)

// discover says what is served, in the form that all clients know.
func (s *Server) discover(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/api":
		answer(w, http.StatusOK, map[string]any{"kind": "APIVersions", "versions": []string{"v1"}})
		return
	case "/apis":
		answer(w, http.StatusOK, map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": s.groups()})
		return
	}
	var resources []map[string]any
	groupVersion := ""
	for i := range s.kinds {
		k := &s.kinds[i]
		if k.path() != r.URL.Path {
			continue
		}
		groupVersion = k.groupVersion()
		resources = append(resources, map[string]any{"name": k.Resource, "kind": k.Kind, "namespaced": k.Namespaced,
			"singularName": "", "verbs": []string{"create", "get", "list", "patch", "watch"}})
	}
	if resources == nil {
		refuse(w, http.StatusNotFound, r.URL.Path+" isn't served here")
		return
	}
	answer(w, http.StatusOK, map[string]any{"kind": "APIResourceList", "apiVersion": "v1",
		"groupVersion": groupVersion, "resources": resources})
}

// groups are those of the kinds, each in the version of its first kind.
func (s *Server) groups() []any {
	groups, seen := []any{}, map[string]bool{"": true}
	for i := range s.kinds {
		k := &s.kinds[i]
		if seen[k.Group] {
			continue
		}
		seen[k.Group] = true
		version := map[string]any{"groupVersion": k.groupVersion(), "version": k.Version}
		groups = append(groups, map[string]any{"name": k.Group, "versions": []any{version},
			"preferredVersion": version})
	}
	return groups
}
