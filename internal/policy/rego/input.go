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
	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/policy/rego/size"
)

// Input is one request as Rego sees it, converted once and shared by every
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
	shared func() ([][2]*ast.Term, error)
	// sizes are those of the parts of shared, and of all of it, in units.
	sizes func() (map[ast.Value]int64, int64)
	// inventory is what rules may look up besides; nil for nothing.
	inventory *inventory.View
	// request is what is converted, and digests are those of its parts; both are nil where no verdict on it may be
	// reused.
	request *policy.Request
	digests *facts.Digests
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
	in := &Input{request: r, digests: &facts.Digests{}, now: r.Now,
		nanoseconds: ast.NewTerm(ast.Number(strconv.FormatInt(r.Now.UnixNano(), 10))),
		kind:        r.Kind.GroupKind(), audit: r.Audit, client: r.UserInfo.Username + "\x00" + r.Namespace}
	in.shared = sync.OnceValues(func() ([][2]*ast.Term, error) { return sharedDocuments(r, read) })
	in.sizes = sync.OnceValues(in.weighed)
	if !read.Whole() {
		in.whole = sync.OnceValues(func() (*Input, error) { return NewInput(r) })
	}
	return in, nil
}

// sharedDocuments are what a request has for every policy.
func sharedDocuments(r *policy.Request, read Read) ([][2]*ast.Term, error) {
	object, oldObject, err := objectTerms(r, read.Object)
	if err != nil {
		return nil, err
	}
	judgedTerm := object
	if r.Operation == policy.Delete || r.Object == nil {
		judgedTerm = oldObject
	}
	documents, err := requestDocuments(r, read, object, oldObject)
	if err != nil {
		return nil, err
	}
	documents = append([][2]*ast.Term{pair("object", judgedTerm)}, documents...)
	if read.Pod {
		if pod := podTerm(r, judgedTerm); pod != nil {
			documents = append(documents, pair("pod", pod))
		}
	}
	return documents, nil
}

// requestDocuments are the request as admission has it and as Gatekeeper has it, as far as they are read.
func requestDocuments(r *policy.Request, read Read, object, oldObject *ast.Term) ([][2]*ast.Term, error) {
	var out [][2]*ast.Term
	if read.Request != nil {
		out = append(out, pair("request", ast.ObjectTerm(requestPairs(r, read.Request, object, oldObject)...)))
	}
	if read.Review != nil {
		review := requestPairs(r, read.Review, object, oldObject)
		if read.Review.Of("namespaceObject") != nil {
			namespaceObject, err := namespaceTerm(r)
			if err != nil {
				return nil, err
			}
			review = append(review, pair("namespaceObject", namespaceObject))
		}
		out = append(out, pair("review", ast.ObjectTerm(review...)))
	}
	return out, nil
}

// weighed weighs what all policies share.
func (in *Input) weighed() (map[ast.Value]int64, int64) {
	s, total := size.NewInputScale(), int64(0)
	shared, _ := in.shared()
	for _, part := range shared {
		total += s.Of(part[1].Value)
	}
	return s.Sizes(), total
}

// Units is how large all that policies share of it is, in units of package size; what rules may
// look up is kept elsewhere.
func (in *Input) Units() int64 {
	_, total := in.sizes()
	return total
}

// document is the whole input document for a policy with these parameters.
func (in *Input) document(parameters *ast.Term) *ast.Term {
	return ast.ObjectTerm(in.fields(parameters)...)
}

// fields are those of the input document.
func (in *Input) fields(parameters *ast.Term) [][2]*ast.Term {
	shared, _ := in.shared() // who evaluates has asked before whether it can be converted
	fields := append(make([][2]*ast.Term, 0, len(shared)+1), shared...)
	return append(fields, pair("parameters", parameters))
}

// Anew is the same request, about which every policy is asked, whatever it has found before.
func (in *Input) Anew() *Input {
	if in == nil {
		return nil
	}
	own := *in
	own.request, own.digests = nil, nil
	return &own
}

// Whole is the same input with all of the request's objects. Until then the request must stay as it is; it isn't kept
// any longer.
func (in *Input) Whole() (*Input, error) {
	if in == nil {
		return nil, nil //nolint:nilnil // what isn't there is whole
	}
	whole := in.Anew()
	if in.whole != nil {
		all, err := in.whole()
		if err != nil {
			return nil, err
		}
		whole = all.Anew()
		whole.inventory = in.inventory
	}
	_, err := whole.shared()
	return whole, err
}

func objectTerms(r *policy.Request, read *facts.Fields) (object, oldObject *ast.Term, err error) {
	if object, err = treeTerm(r.Object, read); err != nil {
		return nil, nil, fmt.Errorf("the object can't be read: %w", err)
	}
	if oldObject, err = treeTerm(r.OldObject, read); err != nil {
		return nil, nil, fmt.Errorf("the old object can't be read: %w", err)
	}
	return object, oldObject, nil
}

// namespaceTerm is an empty object for a cluster-scoped object or an unknown
// namespace, so that a rule may look into it without a guard.
func namespaceTerm(r *policy.Request) (*ast.Term, error) {
	if r.NamespaceObject == nil {
		return ast.ObjectTerm(), nil
	}
	term, err := treeTerm(r.NamespaceObject, facts.All())
	if err != nil {
		return nil, fmt.Errorf("the namespace object can't be read: %w", err)
	}
	return term, nil
}

func treeTerm(tree map[string]any, read *facts.Fields) (*ast.Term, error) {
	if tree == nil {
		return ast.NullTerm(), nil
	}
	value, err := read.Value(tree)
	if err != nil {
		return nil, err
	}
	return ast.NewTerm(value), nil
}

// requestPairs is the AdmissionRequest of admission.k8s.io/v1, with the same
// spelling and the same absent keys, as far as it is read.
func requestPairs(r *policy.Request, read *facts.Fields, object, oldObject *ast.Term) (pairs [][2]*ast.Term) {
	add := func(key string, value func() *ast.Term) {
		if read.Of(key) != nil {
			pairs = append(pairs, pair(key, value()))
		}
	}
	text := func(value string) func() *ast.Term { return func() *ast.Term { return ast.StringTerm(value) } }
	add("uid", text(r.UID))
	add("operation", text(string(r.Operation)))
	add("kind", func() *ast.Term {
		return ast.ObjectTerm(
			pair("group", ast.StringTerm(r.Kind.Group)),
			pair("version", ast.StringTerm(r.Kind.Version)),
			pair("kind", ast.StringTerm(r.Kind.Kind)))
	})
	add("resource", func() *ast.Term { return resourceTerm(r) })
	add("userInfo", func() *ast.Term { return userTerm(r.UserInfo) })
	add("object", func() *ast.Term { return object })
	add("oldObject", func() *ast.Term { return oldObject })
	add("dryRun", func() *ast.Term { return ast.BooleanTerm(r.DryRun) })
	for key, value := range map[string]string{"subResource": r.SubResource, "name": r.Name, "namespace": r.Namespace} {
		if value != "" {
			add(key, text(value))
		}
	}
	return pairs
}

func resourceTerm(r *policy.Request) *ast.Term {
	group, version := r.Kind.Group, r.Kind.Version
	if s, ok := policy.SubresourceOf(r); ok {
		group, version = s.Parent.Group, "v1"
	}
	return ast.ObjectTerm(
		pair("group", ast.StringTerm(group)),
		pair("version", ast.StringTerm(version)),
		pair("resource", ast.StringTerm(r.Resource)))
}

func userTerm(u policy.UserInfo) *ast.Term {
	groups := make([]*ast.Term, len(u.Groups))
	for i, group := range u.Groups {
		groups[i] = ast.StringTerm(group)
	}
	return ast.ObjectTerm(
		pair("username", ast.StringTerm(u.Username)),
		pair("uid", ast.StringTerm(u.UID)),
		pair("groups", ast.ArrayTerm(groups...)))
}

func pair(key string, value *ast.Term) [2]*ast.Term {
	return [2]*ast.Term{ast.StringTerm(key), value}
}
