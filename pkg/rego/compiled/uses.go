// SPDX-License-Identifier: Apache-2.0

package compiled

import "github.com/open-policy-agent/opa/v1/ir"

// uses is what the statements of a function do with its registers. The planner gives
// registers to one rule body after the other anew, so most is told of each outermost block.
type uses struct {
	// most is the highest register.
	most int
	// aliased says that collections are changed through other registers than those that
	// they were made in: rules with variables in their heads are planned so.
	aliased bool
	// within are the uses within the outermost block that is being compiled.
	within map[ir.Local]*use
	// modifies are the registers that `with` statements set.
	modifies map[ir.Local]bool
	got      map[ir.Local]bool
	// statements counts those of the outermost block so far.
	statements int
}

// use is what is done with one register.
type use struct {
	// sets counts statements that set it, changes those that change what it holds.
	sets, changes int
	// reads counts operands, and raw the statements that take nothing but a register.
	reads, raw int
	// changed is the last statement that changes it, and read the first that reads it.
	changed, read int
}

// grownFirst says that nothing reads a register before all is added to it.
func (u *use) grownFirst() bool { return u.read == 0 || u.changed < u.read }

func usesOf(blocks []*ir.Block) *uses {
	u := &uses{modifies: map[ir.Local]bool{}, got: map[ir.Local]bool{}}
	for _, block := range blocks {
		u.enter(block)
	}
	return u
}

// enter begins an outermost block.
func (u *uses) enter(block *ir.Block) {
	u.within = map[ir.Local]*use{}
	u.got, u.statements = map[ir.Local]bool{}, 0
	u.walk(block)
	for local, is := range u.within {
		if u.got[local] && is.changes > 0 {
			u.aliased = true
		}
	}
}

func (u *uses) of(l ir.Local) *use {
	u.most = max(u.most, int(l))
	is := u.within[l]
	if is == nil {
		is = &use{}
		u.within[l] = is
	}
	return is
}

func (u *uses) sets(l ir.Local) { u.of(l).sets++ }

func (u *uses) changes(l ir.Local) {
	is := u.of(l)
	is.changes, is.changed = is.changes+1, u.statements
}

// reader is a register that the present statement reads.
func (u *uses) reader(l ir.Local) *use {
	is := u.of(l)
	if is.read == 0 {
		is.read = u.statements
	}
	return is
}

func (u *uses) raw(locals ...ir.Local) {
	for _, l := range locals {
		u.reader(l).raw++
	}
}

func (u *uses) reads(operands ...ir.Operand) {
	for _, o := range operands {
		if l, ok := o.Value.(ir.Local); ok {
			u.reader(l).reads++
		}
	}
}

func (u *uses) walk(block *ir.Block) {
	for _, stmt := range block.Stmts {
		u.statements++
		if !u.nested(stmt) && !u.constructed(stmt) && !u.checked(stmt) {
			u.assigned(stmt)
		}
	}
}

func (u *uses) nested(stmt ir.Stmt) bool {
	switch s := stmt.(type) {
	case *ir.ScanStmt:
		u.raw(s.Source)
		u.sets(s.Key)
		u.sets(s.Value)
	case *ir.WithStmt:
		u.reads(s.Value)
		u.sets(s.Local)
		u.modifies[s.Local] = true
	}
	blocks := blocksOf(stmt)
	for _, block := range blocks {
		u.walk(block)
	}
	return len(blocks) > 0
}

func (u *uses) constructed(stmt ir.Stmt) bool {
	switch s := stmt.(type) {
	case *ir.MakeArrayStmt:
		u.sets(s.Target)
	case *ir.MakeObjectStmt:
		u.sets(s.Target)
	case *ir.MakeSetStmt:
		u.sets(s.Target)
	case *ir.ArrayAppendStmt:
		u.reads(s.Value)
		u.changes(s.Array)
	case *ir.ObjectInsertStmt:
		u.reads(s.Key, s.Value)
		u.changes(s.Object)
	case *ir.ObjectInsertOnceStmt:
		u.reads(s.Key, s.Value)
		u.changes(s.Object)
	case *ir.SetAddStmt:
		u.reads(s.Value)
		u.changes(s.Set)
	case *ir.ObjectMergeStmt:
		u.raw(s.A, s.B)
		u.sets(s.Target)
	default:
		return false
	}
	return true
}

func (u *uses) checked(stmt ir.Stmt) bool {
	switch s := stmt.(type) {
	case *ir.EqualStmt:
		u.reads(s.A, s.B)
	case *ir.NotEqualStmt:
		u.reads(s.A, s.B)
	case *ir.IsDefinedStmt:
		u.raw(s.Source)
	case *ir.IsUndefinedStmt:
		u.raw(s.Source)
	case *ir.IsArrayStmt:
		u.reads(s.Source)
	case *ir.IsObjectStmt:
		u.reads(s.Source)
	case *ir.IsSetStmt:
		u.reads(s.Source)
	case *ir.ReturnLocalStmt:
		u.raw(s.Source)
	case *ir.ResultSetAddStmt:
		u.raw(s.Value)
	default:
		return false
	}
	return true
}

func (u *uses) assigned(stmt ir.Stmt) {
	switch s := stmt.(type) {
	case *ir.DotStmt:
		u.reads(s.Source, s.Key)
		u.sets(s.Target)
		u.got[s.Target] = true
	case *ir.LenStmt:
		u.reads(s.Source)
		u.sets(s.Target)
	case *ir.AssignVarStmt:
		u.reads(s.Source)
		u.sets(s.Target)
	case *ir.AssignVarOnceStmt:
		u.reads(s.Source)
		u.raw(s.Target)
		u.sets(s.Target)
	case *ir.CallStmt:
		u.reads(s.Args...)
		u.sets(s.Result)
	case *ir.CallDynamicStmt:
		u.raw(s.Args...)
		u.reads(s.Path...)
		u.sets(s.Result)
	default:
		u.numbers(stmt)
	}
}

func (u *uses) numbers(stmt ir.Stmt) {
	switch s := stmt.(type) {
	case *ir.AssignIntStmt:
		u.sets(s.Target)
	case *ir.MakeNumberIntStmt:
		u.sets(s.Target)
	case *ir.MakeNumberRefStmt:
		u.sets(s.Target)
	case *ir.MakeNullStmt:
		u.sets(s.Target)
	case *ir.ResetLocalStmt:
		u.sets(s.Target)
	}
}
