// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ownership corrects managedFields after an object was changed behind the back of field management.
//
// Field management runs first in a request: it compares the persisted object with what the client asked for. Feature
// gates and unions change the object after that. Correct makes the entries of managedFields say what field management
// would have said, had it known (rules G7, U8): a field that the request did not change after all has the owners that
// it had, and a field that is gone has none.
package ownership
