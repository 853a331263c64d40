// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"context"

	"github.com/open-policy-agent/opa/v1/storage"
)

// noData is the store of a policy: rules see their own packages under data, and
// nothing else. Only Read is ever called in an evaluation.
type noData struct{ storage.Store }

// Read finds the root and nothing below it.
func (noData) Read(_ context.Context, _ storage.Transaction, path storage.Path) (any, error) {
	if len(path) == 0 {
		return map[string]any{}, nil
	}
	return nil, &storage.Error{Code: storage.NotFoundErr, Message: path.String()}
}
