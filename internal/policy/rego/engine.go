// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/pkg/rego/compiled"
	"evenkeel.dev/evenkeel/pkg/rego/compiled/planner"
)

// Engine says what evaluates the rules.
type Engine = policy.Engine

// The engines.
const (
	Topdown        = policy.Topdown
	CompiledEngine = policy.CompiledEngine
)

const (
	// compiledShare is the share of the time limit, as a divisor, that the compiled engine gets;
	// what is left of the limit is topdown's afterwards.
	compiledShare = 8
	// compiledSteps and compiledValues bound what the compiled engine does for one policy and one
	// object: some tens of milliseconds, and about as many megabytes.
	compiledSteps, compiledValues = 200_000, 200_000
)

// On is the policy with its rules ready for an engine. What is compiled is shared by all
// policies that were redefined of one.
func (c *Compiled) On(engine Engine) *Compiled {
	on := *c
	on.engine = engine
	if engine == CompiledEngine {
		on.shared.prepare(c)
	}
	return &on
}

// Traced is the policy left to topdown, whose decisions say how it came to them.
func (c *Compiled) Traced() *Compiled {
	on := *c
	on.engine, on.traced = Topdown, true
	return &on
}

// WhyTopdown says why the compiled engine leaves the policy to topdown; nil when it doesn't,
// or wasn't asked to.
func (c *Compiled) WhyTopdown() error {
	if c.engine != CompiledEngine {
		return nil
	}
	return c.shared.why
}

// shared is the program of all policies with the same Rego.
type shared struct {
	once sync.Once
	// why says why there is no program.
	why     error
	program *compiled.Program
	rules   map[string]compiled.Rule
}

func (s *shared) prepare(c *Compiled) {
	s.once.Do(func() { s.why = s.compile(c) })
}

func (s *shared) compile(c *Compiled) error {
	if why := planner.NeedsTopdown(c.compiler); why != "" {
		return errors.New(why)
	}
	var query ast.Body
	for name := range c.rules {
		query.Append(ast.Equality.Expr(ast.VarTerm(name), ast.NewTerm(c.entry.Append(ast.StringTerm(name)))))
	}
	planned, err := planner.Plan(context.Background(), c.compiler, query, nil)
	if err != nil {
		return err
	}
	if s.program, err = compiled.Compile(planned); err != nil {
		return err
	}
	return s.find(c)
}

func (s *shared) find(c *Compiled) error {
	s.rules = map[string]compiled.Rule{}
	for name := range c.rules {
		var path []string
		for _, part := range c.entry.Append(ast.StringTerm(name))[1:] {
			path = append(path, string(part.Value.(ast.String)))
		}
		rule, ok := s.program.Rule(path...)
		if !ok {
			return fmt.Errorf("the plan lacks the rule %s", name)
		}
		s.rules[name] = rule
	}
	return nil
}
