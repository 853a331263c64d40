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
	"evenkeel.dev/evenkeel/internal/policy/rego/size"
)

// Input is one request as Rego sees it, converted once, when the first policy is evaluated, and shared by every
// policy that judges it. It is immutable and safe for concurrent use.
type Input struct {
	now time.Time
	// nanoseconds is now as rules see it.
	nanoseconds *ast.Term
	kind        policy.GroupKind
	// audit says that no request waits for the answer.
	audit bool
	// client is who asks, and where: what evaluations that take long are told apart
	// by.
	client string
	// shared makes the keys of the input document that are the same for every
	// policy, all but parameters, once somebody needs them.
	shared func() (*sharedTerms, error)
	// sizes are those of the parts of shared, and of all of it, in units.
	sizes func() (map[ast.Value]int64, int64)
	// inventory is what rules may look up besides; nil for nothing.
	inventory *inventory.View
	// whole makes the same input with all of the request's objects; nil where it has all of them.
	whole func() (*Input, error)
}

// Over is the same request with what rules may look up besides.
func (in *Input) Over(view *inventory.View) *Input {
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

// NewInput converts a request. It errors when the request holds no object, has no
// time, or holds a value that isn't JSON.
func NewInput(r *policy.Request) (*Input, error) {
	in, err := NewInputOf(r, ReadAll())
	if err == nil {
		_, err = in.shared()
	}
	return in, err
}

// NewInputOf is a request for policies that read no more than this of it: ReadBy. It is converted once a policy is
// evaluated, whose decision says what is wrong with it, and must stay as it is until then. Topdown is given all, also
// where the compiled engine leaves a policy to it.
func NewInputOf(r *policy.Request, read Read) (*Input, error) {
	judged := r.Judged()
	if judged == nil {
		return nil, fmt.Errorf("the %s request for %s %s holds no object to judge", r.Operation, r.Kind.GroupKind(),
			r.Name)
	}
	if r.Now.IsZero() {
		return nil, errors.New("the request has no time: set Request.Now")
	}
	in := &Input{now: r.Now, nanoseconds: ast.NewTerm(ast.Number(strconv.FormatInt(r.Now.UnixNano(), 10))),
		kind: r.Kind.GroupKind(), audit: r.Audit, client: policy.Flow(r)}
	in.shared = sync.OnceValues(func() (*sharedTerms, error) { return sharedDocuments(r, read) })
	in.sizes = sync.OnceValues(in.weighed)
	if !read.Whole() {
		in.whole = sync.OnceValues(func() (*Input, error) { return NewInput(r) })
	}
	return in, nil
}

// weighed weighs what all policies share.
func (in *Input) weighed() (map[ast.Value]int64, int64) {
	s, total := size.NewInputScale(), int64(0)
	shared, err := in.shared()
	if err != nil {
		return nil, 0
	}
	for _, part := range shared.common {
		total += s.Of(part[1].Value)
	}
	return s.Sizes(), total + max(weight(s, shared.review), weight(s, shared.gatekeeper))
}

// weight is that of a part that may be missing.
func weight(s *size.Scale, part *ast.Term) int64 {
	if part == nil {
		return 0
	}
	return s.Of(part.Value)
}

// document is the whole input document for a policy.
func (in *Input) document(of *Compiled) *ast.Term {
	return ast.ObjectTerm(in.fields(of)...)
}

// fields are those of the input document for a policy.
func (in *Input) fields(of *Compiled) [][2]*ast.Term {
	shared, _ := in.shared() // who evaluates has asked before whether it can be converted
	return append(shared.fields(of.Gatekeepers()), pair("parameters", of.parameters))
}

// Whole is the same input with all of the request's objects. Until then the request must stay as it is; it isn't kept
// any longer.
func (in *Input) Whole() (*Input, error) {
	if in == nil {
		return nil, nil //nolint:nilnil // what isn't there is whole
	}
	whole := *in
	if in.whole != nil {
		all, err := in.whole()
		if err != nil {
			return nil, err
		}
		whole = *all
		whole.inventory = in.inventory
	}
	return &whole, nil
}
