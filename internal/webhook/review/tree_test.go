// SPDX-License-Identifier: Apache-2.0

package review

type tree = map[string]any
