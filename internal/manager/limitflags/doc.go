// SPDX-License-Identifier: Apache-2.0

// Package limitflags holds the flags that say what fixes may write and how careful they
// must be. The commands that preview a plan take them too, so that they tell what the
// manager would do. It judges nothing: internal/limits does. Start reading at Floors.
package limitflags
