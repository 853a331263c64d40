// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"context"
	"strconv"

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

// below is what stands under a key of a path: a list's are its indexes, as text.
func below(at ast.Value, key string) *ast.Term {
	switch v := at.(type) {
	case ast.Object:
		return v.Get(ast.StringTerm(key))
	case *ast.Array:
		if n, err := strconv.Atoi(key); err == nil && n >= 0 && n < v.Len() && strconv.Itoa(n) == key {
			return v.Elem(n)
		}
	}
	return nil
}

func notFound(path storage.Path) error {
	return &storage.Error{Code: storage.NotFoundErr, Message: path.String()}
}
