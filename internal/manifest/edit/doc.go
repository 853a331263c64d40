// SPDX-License-Identifier: Apache-2.0

// Package edit changes an object where it is written, in YAML or JSON, and leaves
// everything else of the text as it is: comments, order, quotes, indentation.
//
// A text is never written anew. Each difference is one splice: the smallest piece of
// text that makes one field, or one element of a list, what it should be. What comes
// out is decoded and compared before it is returned; a text that can't be changed so
// is an error, and never a guess.
//
// The package knows no Kubernetes and no policy, and writes no file. Start at Set.
package edit
