// SPDX-License-Identifier: Apache-2.0

package validation

type tree = map[string]any
