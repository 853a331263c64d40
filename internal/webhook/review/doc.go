// SPDX-License-Identifier: Apache-2.0

// Package review judges what users ask of the API server by the policies in force. It
// asks the policies of one class for a verdict, tells old violations from new ones, and
// puts the answer into words.
//
// It must never change an object, and never let a request pass that a policy failing
// closed couldn't judge. Start reading at Handler.
package review
