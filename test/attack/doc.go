// SPDX-License-Identifier: Apache-2.0

// Package attack tries to get past Evenkeel and to make it do harm, on a real
// API server, with the manager under its shipped permissions and with the memory that
// config/manager gives it. Each spec is one attempt; the table of attempts and of
// what came of them is what `make attack` prints. A spec must never wait for a
// time; it waits for what is to be seen. Start reading at attempt.
package attack
