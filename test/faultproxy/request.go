// SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// Request is one request to the API server.
type Request struct {
	Method, Path string
	Query        url.Values
	// Group, Resource, Subresource, Namespace and Name are read off the path.
	Group, Resource, Subresource, Namespace, Name string
	// Body is what the manager sent, for a write.
	Body []byte
}

// IsWrite says whether the request changes what is stored. Server-side dry runs
// and access reviews don't.
func (r Request) IsWrite() bool {
	return mutating(r.Method) && !r.dryRun() && r.Group != "authorization.k8s.io"
}

// IsDryRun says whether the request is a server-side dry run.
func (r Request) IsDryRun() bool { return mutating(r.Method) && r.dryRun() }

// dryRun reads the option where clients put it: a deletion's options are its body.
func (r Request) dryRun() bool {
	if r.Query.Get("dryRun") != "" {
		return true
	}
	var options struct {
		DryRun []string `json:"dryRun"`
	}
	return r.Method == http.MethodDelete && json.Unmarshal(r.Body, &options) == nil && len(options.DryRun) > 0
}

// Write is one write that was forwarded, with what the API server answered.
type Write struct {
	Request
	Status int
	// UID and ResourceVersion are those of the object that was answered.
	UID, ResourceVersion string
}

// Succeeded says whether the API server carried the write out.
func (w Write) Succeeded() bool { return w.Status >= 200 && w.Status < 300 }

func mutating(method string) bool {
	switch method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return true
	default:
		return false
	}
}

// parse reads a request as the API server does:
// /api/v1/... and /apis/GROUP/VERSION/..., then
// [namespaces/NAMESPACE/]RESOURCE[/NAME[/SUBRESOURCE]].
func parse(r *http.Request) Request {
	out := Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query()}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		out.Group, parts = parts[1], parts[3:]
	default:
		return out
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		out.Namespace, parts = parts[1], parts[2:]
	}
	for i, into := range []*string{&out.Resource, &out.Name, &out.Subresource} {
		if i < len(parts) {
			*into = parts[i]
		}
	}
	return out
}

func recordOf(r Request, a Answer) Write {
	w := Write{Request: r, Status: a.Status}
	var object struct {
		Metadata struct {
			UID             string `json:"uid"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if json.Unmarshal(a.Body, &object) == nil {
		w.UID, w.ResourceVersion = object.Metadata.UID, object.Metadata.ResourceVersion
	}
	return w
}
