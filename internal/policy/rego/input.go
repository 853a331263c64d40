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
	// shared holds the keys of the input document that are the same for every
	// policy: all but parameters.
	shared [][2]*ast.Term
	// sizes are those of the parts of shared, and of all of it, in units.
	sizes func() (map[ast.Value]int64, int64)
}

// NewInput converts a request. It errors when the request holds no object, has no
// time, or holds a value that isn't JSON.
func NewInput(r *policy.Request) (*Input, error) {
	judged := r.Judged()
	if judged == nil {
		return nil, fmt.Errorf("the %s request for %s %s holds no object to judge", r.Operation, r.Kind.GroupKind(),
			r.Name)
	}
	if r.Now.IsZero() {
		return nil, errors.New("the request has no time: set Request.Now")
	}
	object, oldObject, err := objectTerms(r)
	if err != nil {
		return nil, err
	}
	judgedTerm := object
	if r.Operation == policy.Delete || r.Object == nil {
		judgedTerm = oldObject
	}
	namespaceObject, err := namespaceTerm(r)
	if err != nil {
		return nil, err
	}
	request := requestPairs(r, object, oldObject)
	review := append(append(make([][2]*ast.Term, 0, len(request)+1), request...),
		pair("namespaceObject", namespaceObject))
	in := &Input{now: r.Now, nanoseconds: ast.NewTerm(ast.Number(strconv.FormatInt(r.Now.UnixNano(), 10))),
		kind: r.Kind.GroupKind(), audit: r.Audit,
		client: r.UserInfo.Username + "\x00" + r.Namespace, shared: [][2]*ast.Term{
			pair("request", ast.ObjectTerm(request...)),
			pair("review", ast.ObjectTerm(review...)),
			pair("object", judgedTerm),
		}}
	if pod := podTerm(r, judgedTerm); pod != nil {
		in.shared = append(in.shared, pair("pod", pod))
	}
	in.sizes = sync.OnceValues(in.weighed)
	return in, nil
}

// weighed weighs what all policies share.
func (in *Input) weighed() (map[ast.Value]int64, int64) {
	s, total := size.NewInputScale(), int64(0)
	for _, part := range in.shared {
		total += s.Of(part[1].Value)
	}
	return s.Sizes(), total
}

// Units is how large all that policies share of it is, in units of package size.
func (in *Input) Units() int64 {
	_, total := in.sizes()
	return total
}

// document is the whole input document for a policy with these parameters.
func (in *Input) document(parameters *ast.Term) *ast.Term {
	pairs := append(make([][2]*ast.Term, 0, len(in.shared)+1), in.shared...)
	return ast.ObjectTerm(append(pairs, pair("parameters", parameters))...)
}

func objectTerms(r *policy.Request) (object, oldObject *ast.Term, err error) {
	if object, err = treeTerm(r.Object); err != nil {
		return nil, nil, fmt.Errorf("the object can't be read: %w", err)
	}
	if oldObject, err = treeTerm(r.OldObject); err != nil {
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
	term, err := treeTerm(r.NamespaceObject)
	if err != nil {
		return nil, fmt.Errorf("the namespace object can't be read: %w", err)
	}
	return term, nil
}

func treeTerm(tree map[string]any) (*ast.Term, error) {
	if tree == nil {
		return ast.NullTerm(), nil
	}
	value, err := ast.InterfaceToValue(tree)
	if err != nil {
		return nil, fmt.Errorf("it isn't a JSON value: %w", err)
	}
	return ast.NewTerm(value), nil
}

// requestPairs is the AdmissionRequest of admission.k8s.io/v1, with the same
// spelling and the same absent keys.
func requestPairs(r *policy.Request, object, oldObject *ast.Term) [][2]*ast.Term {
	group, version := r.Kind.Group, r.Kind.Version
	if s, ok := policy.SubresourceOf(r); ok {
		group, version = s.Parent.Group, "v1"
	}
	pairs := [][2]*ast.Term{
		pair("uid", ast.StringTerm(r.UID)),
		pair("operation", ast.StringTerm(string(r.Operation))),
		pair("kind", ast.ObjectTerm(
			pair("group", ast.StringTerm(r.Kind.Group)),
			pair("version", ast.StringTerm(r.Kind.Version)),
			pair("kind", ast.StringTerm(r.Kind.Kind)))),
		pair("resource", ast.ObjectTerm(
			pair("group", ast.StringTerm(group)),
			pair("version", ast.StringTerm(version)),
			pair("resource", ast.StringTerm(r.Resource)))),
		pair("userInfo", userTerm(r.UserInfo)),
		pair("object", object),
		pair("oldObject", oldObject),
		pair("dryRun", ast.BooleanTerm(r.DryRun)),
	}
	for key, value := range map[string]string{"subResource": r.SubResource, "name": r.Name, "namespace": r.Namespace} {
		if value != "" {
			pairs = append(pairs, pair(key, ast.StringTerm(value)))
		}
	}
	return pairs
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
