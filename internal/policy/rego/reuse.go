// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
	"evenkeel.dev/evenkeel/internal/policy/rego/reuse"
)

// Reusing is the policy with a memory of the inputs in which it has found nothing. A verdict depends on the rules, the
// parameters and what the rules read of the input alone; so where they read the same again, they find nothing again,
// and aren't asked. Only the compiled engine's verdicts are remembered, and none of a policy that asks for the time or
// looks other objects up. The memory is of this process alone, and bounded.
func (c *Compiled) Reusing() *Compiled {
	own := *c
	own.clean = reuse.NewSet()
	own.shared.decided.Do(func() { own.shared.excerpt = c.decisive() })
	return &own
}

// decisive is what decides whether the rules find anything. Fixes are asked of what violates alone.
func (c *Compiled) decisive() excerpt {
	var rules []ast.Ref
	for _, name := range []string{ruleDeny, ruleViolation, ruleWarn} {
		if _, there := c.rules[name]; there {
			rules = append(rules, c.entry.Append(ast.StringTerm(name)))
		}
	}
	return excerptOf(facts.VerdictReadsOf(c.compiler, documents(), rules...))
}

// The documents of a request.
const (
	objectDocument byte = iota
	oldDocument
	podDocument
	podSpecDocument
)

// excerpt is what the rules of a policy read of a request, to be written as text.
type excerpt struct {
	object, pod             []facts.Part
	objectOrders, podOrders []facts.Order
	// old says that the object before is read, by whatever name.
	old bool
	// podName and podNamespace are read of the Pod, which has those of the workload or of the request; named says that
	// it is asked whether it has a name.
	readsPod, podName, named, podNamespace bool
	// These are read of the request; requestNamed says that it is asked whether it has a name.
	uid, name, requestNamed, namespace, user, dryRun, namespaceObject bool
	// Of what Gatekeeper alone shows, options and requested are read, and audited says that something is that it leaves
	// out in an audit.
	options, requested, audited bool
}

// documents are those of whose lists the order of the elements can be told, each with its places in the input.
func documents() [][][]string {
	return [][][]string{objectPlaces(), oldObjectPlaces(), podSpecPlaces()}
}

func excerptOf(reads facts.Reads) excerpt {
	r := readingOf(reads)
	asked := func(key string) bool { return r.request.Of(key) != nil || r.review.Of(key) != nil }
	whole := func(f *facts.Fields) bool { return f != nil && !f.AsksOnly() }
	podName := r.pod.Of("metadata").Of("name")
	return excerpt{
		object: r.object.Excerpt().Parts(), pod: r.pod.Excerpt().Parts(), old: asked("oldObject"),
		objectOrders: slices.Concat(reads.Orders(objectPlaces()...), reads.Orders(oldObjectPlaces()...)),
		podOrders:    reads.Orders(podSpecPlaces()...),
		readsPod:     r.pod != nil, podName: whole(podName), named: podName != nil,
		podNamespace: r.pod.Of("metadata").Of("namespace") != nil,
		uid:          asked("uid"), name: whole(r.request.Of("name")) || whole(r.review.Of("name")),
		requestNamed: asked("name"), namespace: asked("namespace"), user: asked("userInfo"),
		dryRun: asked("dryRun"), namespaceObject: r.review.Of("namespaceObject") != nil,
		options:   r.review.Of("options") != nil,
		requested: ofAny(r.review, "requestKind", "requestResource", "requestSubResource"),
		audited: ofAny(r.review, "uid", "operation", "resource", "subResource", "userInfo", "dryRun",
			"options", "requestKind", "requestResource", "requestSubResource"),
	}
}

// write writes all of a request that the rules read, and what its documents are made by.
func (e *excerpt) write(to *facts.Text, r *policy.Request, digests *facts.Digests) {
	for _, text := range []string{string(r.Operation), r.Kind.Group, r.Kind.Version, r.Kind.Kind, r.Resource,
		r.SubResource} {
		to.Text(text)
	}
	e.writeObject(to, objectDocument, r.Object, digests)
	if e.old || r.JudgesOld() {
		e.writeObject(to, oldDocument, r.OldObject, digests)
	}
	if e.readsPod {
		e.writePod(to, r, digests)
	}
	e.writeRequest(to, r)
}

// writeRequest writes what the rules read of a request besides its objects.
func (e *excerpt) writeRequest(to *facts.Text, r *policy.Request) {
	for _, text := range []struct {
		read bool
		text string
	}{{e.uid, r.UID}, {e.name, r.Name}, {e.namespace, r.Namespace}} {
		if text.read {
			to.Text(text.text)
		}
	}
	if e.requestNamed {
		to.Whole(r.Name != "")
	}
	if e.user {
		writeUser(to, r.UserInfo)
	}
	if e.dryRun {
		to.Whole(r.DryRun)
	}
	switch {
	case e.namespaceObject && r.NamespaceObject != nil:
		to.Whole(r.NamespaceObject)
	case e.namespaceObject:
		to.None()
	}
}

func writeUser(to *facts.Text, u policy.UserInfo) {
	to.Text(u.Username)
	to.Text(u.UID)
	for _, group := range u.Groups {
		to.Text(group)
	}
	to.None()
}

// writePod writes what podTerm makes the Pod of.
func (e *excerpt) writePod(to *facts.Text, r *policy.Request, digests *facts.Digests) {
	judged, document := r.Judged(), objectDocument
	template := any(judged)
	if r.JudgesOld() {
		document = oldDocument
	}
	if path, isWorkload := policy.TemplatePath(r.Kind.GroupKind()); isWorkload {
		document, template = podDocument, policy.FieldAt(judged, path)
	}
	fields, isThere := template.(map[string]any)
	to.Whole(isThere)
	for i := range e.pod {
		to.Part(&e.pod[i], document, template, digests)
	}
	for i := range e.podOrders {
		to.Order(&e.podOrders[i], podSpecDocument, fields["spec"], digests)
	}
	if e.podNamespace {
		to.Text(r.Namespace)
	}
	if e.named {
		name, there := policy.Metadata(judged)["name"]
		to.Whole(there)
		to.Whole(name == false)
		if e.podName {
			to.Whole(name)
		}
	}
}

func (e *excerpt) writeObject(to *facts.Text, document byte, object map[string]any, digests *facts.Digests) {
	to.Whole(object != nil)
	if object == nil {
		return
	}
	for i := range e.object {
		to.Part(&e.object[i], document, object, digests)
	}
	for i := range e.objectOrders {
		to.Order(&e.objectOrders[i], document, object, digests)
	}
}

// digest stands for what the policy reads of an input, if its verdict is one to remember.
func (c *Compiled) digest(in *Input) (d reuse.Digest, reusable bool) {
	if c.clean == nil || !c.shared.timeless || in.request == nil || in.inventory != nil || len(c.references) > 0 ||
		!c.clean.Worth() {
		return d, false
	}
	text := in.digests.Borrow()
	defer in.digests.Return(text)
	return c.clean.Digest(text, func(text *facts.Text) {
		c.shared.excerpt.write(text, in.request, in.digests)
		if c.Gatekeepers() {
			c.shared.excerpt.writeGatekeepers(text, in.request)
		}
	})
}

// asksForTime says that a program calls what gives another answer another time.
func asksForTime(planned *ir.Policy) bool {
	return slices.ContainsFunc(planned.Static.BuiltinFuncs, func(f *ir.BuiltinFunc) bool {
		return f.Name == ast.NowNanos.Name || f.Name == ast.JWTDecodeVerify.Name ||
			strings.HasPrefix(f.Name, "crypto.x509.")
	})
}
