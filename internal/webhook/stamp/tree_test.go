// SPDX-License-Identifier: Apache-2.0

package stamp

type tree = map[string]any
