// Package recordtest keeps plans and their slices in memory, for tests.
package recordtest
