// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"context"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
)

// store gives rules what they may look up besides the object: under data they see that, their own
// packages, and nothing else. Only Read is ever called in an evaluation.
type store struct {
	storage.Store
	data ast.Value
}

// Read finds what stands at a path.
func (s *store) Read(_ context.Context, _ storage.Transaction, path storage.Path) (any, error) {
	at := s.data
	for _, key := range path {
		term := below(at, key)
		if term == nil {
			return nil, notFound(path)
		}
		at = term.Value
	}
	return at, nil
}

// below is what stands under a key of a path: a list's are its indexes, as text, of which OPA takes 0, 00 and 0.0 for
// one (v1/util, Atoi).
func below(at ast.Value, key string) *ast.Term {
	switch v := at.(type) {
	case ast.Object:
		return v.Get(ast.StringTerm(key))
	case *ast.Array:
		return v.Get(ast.NewTerm(ast.Number(key)))
	}
	return nil
}

func notFound(path storage.Path) error {
	return &storage.Error{Code: storage.NotFoundErr, Message: path.String()}
}
