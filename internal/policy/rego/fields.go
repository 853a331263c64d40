// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
)

// Read is what of an input some policies may read.
type Read struct {
	// Object is of the object and the old one, wherever the input has them.
	Object *facts.Fields
	// Request and Review are of the documents of these names; what stands in their objects is Object's to say.
	Request, Review *facts.Fields
	// Gatekeeper is of the review, by policies that were written for Gatekeeper.
	Gatekeeper *facts.Fields
	// Pod says that something of the document of that name is read.
	Pod bool
}

// ReadAll is all of an input.
func ReadAll() Read {
	return Read{Object: facts.All(), Request: facts.All(), Review: facts.All(), Gatekeeper: facts.All(),
		Pod: true}
}

// Whole says that all is read.
func (r Read) Whole() bool {
	return r.Object.Whole() && r.Request.Whole() && r.Review.Whole() && r.Gatekeeper.Whole() && r.Pod
}

// reading is what the rules of a policy may read: of the object that is judged, object where the input has the object
// or the old one, and pod where it has the Pod; and of the request.
type reading struct {
	object, pod, request, review *facts.Fields
}

// objectPlaces are where the input has the object that is judged, oldObjectPlaces where it has the one before,
// and podPlaces where it has the Pod.
func objectPlaces() [][]string {
	return [][]string{{"object"}, {"review", "object"}, {"request", "object"}}
}

func oldObjectPlaces() [][]string {
	return [][]string{{"review", "oldObject"}, {"request", "oldObject"}}
}

func podPlaces() [][]string { return [][]string{{"pod"}} }

func readingOf(reads facts.Reads) reading {
	return reading{
		object:  reads.Below(slices.Concat(objectPlaces(), oldObjectPlaces())...),
		pod:     reads.Below(podPlaces()...),
		request: reads.Below([]string{"request"}),
		review:  reads.Below([]string{"review"}),
	}
}

// ReadBy is what of the input for an object of a kind some policies may read: an Input for them alone need hold no
// more. A policy that topdown judges is taken to read all: it is what the compiled engine is compared with.
func ReadBy(kind policy.GroupKind, by ...*Compiled) Read {
	var out Read
	read := make([]*facts.Fields, 0, 2*len(by)+1)
	path, isWorkload := policy.TemplatePath(kind)
	for _, c := range by {
		if engine, _ := c.Engine(); engine != CompiledEngine {
			return ReadAll()
		}
		out.Request = facts.Join(out.Request, c.reading.request)
		if c.Gatekeepers() {
			out.Gatekeeper = facts.Join(out.Gatekeeper, c.reading.review)
		} else {
			out.Review = facts.Join(out.Review, c.reading.review)
		}
		pod := c.reading.pod
		out.Pod = out.Pod || pod != nil
		if isWorkload {
			pod = pod.Under(strings.Split(strings.TrimPrefix(path, "/"), "/")...)
		}
		read = append(read, c.reading.object, pod)
	}
	// A Pod that a workload would make has the workload's name where its template has none.
	out.Object = facts.Join(append(read, facts.Field("metadata", "name"))...)
	return out
}
