// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// Input is one request as Rego sees it, converted once and shared by every policy that evaluates it. Evaluate it from
// one goroutine at a time: OPA sorts the keys of its objects when they are first compared.
type Input struct {
	now time.Time
	// nanoseconds is now as rules see it.
	nanoseconds *ast.Term
	kind        policy.GroupKind
	// audit says that no request waits for the answer.
	audit bool
	// client is the user and namespace of the request; evaluations that take long share their turns by it.
	client string
	// documents are what the input holds for every policy, all but parameters.
	documents
	// tooLarge caches documents.large.
	tooLarge func() bool
	// inventory is what rules may look up besides; nil for nothing.
	inventory *inventory.View
}

// NewInput converts a request. It errors when the request holds no object, has no
// time, or holds a value that isn't JSON.
func NewInput(r *policy.Request) (*Input, error) {
	if r.Judged() == nil {
		return nil, fmt.Errorf("the %s request for %s %s holds no object to judge", r.Operation, r.Kind.GroupKind(),
			r.Name)
	}
	if r.Now.IsZero() {
		return nil, errors.New("the request has no time: set Request.Now")
	}
	documents, err := documentsOf(r)
	if err != nil {
		return nil, err
	}
	return &Input{now: r.Now, nanoseconds: ast.NewTerm(ast.Number(strconv.FormatInt(r.Now.UnixNano(), 10))),
		kind: r.Kind.GroupKind(), audit: r.Audit, client: policy.Flow(r),
		documents: documents, tooLarge: sync.OnceValue(documents.large)}, nil
}

// WithInventory is the same request with what rules may look up besides.
func (in *Input) WithInventory(view *inventory.View) *Input {
	own := *in
	own.inventory = view
	return &own
}

// data is the document of that name.
func (in *Input) data() *ast.Term {
	if in.inventory == nil {
		return ast.InternedEmptyObject
	}
	return in.inventory.Data
}

// document is the whole input document for a policy.
func (in *Input) document(of *Compiled) *ast.Term {
	return ast.ObjectTerm(in.fields(of)...)
}

// fields are those of the input document for a policy.
func (in *Input) fields(of *Compiled) [][2]*ast.Term {
	review := in.review
	if of.Gatekeepers() {
		review = in.gatekeeper
	}
	fields := append(make([][2]*ast.Term, 0, len(in.common)+2), in.common...)
	return append(fields, pair("review", review), pair("parameters", of.parameters))
}
