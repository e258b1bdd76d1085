// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonvalue

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"strconv"
)

// Fingerprint is a hash of a JSON value. Equal values have the same Fingerprint, and different values have the same one
// with a probability of 2^-64. It is seeded for each process, so that clients cannot construct collisions.
//
// The Fingerprint of an object is the sum of NoFields and the FieldFingerprint of each field. The Fingerprint of a list
// is the sum of NoItems and the ItemFingerprint of each item. To add or remove a field, add or subtract its
// FieldFingerprint; the other fields need not be visited.
type Fingerprint uint64

var (
	seed = maphash.MakeSeed()
	// NoFields is the Fingerprint of an empty object.
	NoFields = Fingerprint(maphash.String(seed, "object"))
	// NoItems is the Fingerprint of an empty list.
	NoItems = Fingerprint(maphash.String(seed, "list"))
)

// FingerprintOf returns the Fingerprint of a value. It takes time linear in the size of the value.
func FingerprintOf(value any) Fingerprint {
	switch value := value.(type) {
	case map[string]any:
		sum := NoFields
		for name, v := range value {
			sum += FieldFingerprint(name, FingerprintOf(v))
		}
		return sum
	case []any:
		sum := NoItems
		for i, v := range value {
			sum += ItemFingerprint(i, FingerprintOf(v))
		}
		return sum
	case string:
		return hash('s', value, 0)
	case bool:
		return hash('b', strconv.FormatBool(value), 0)
	case int64:
		return hash('i', "", uint64(value))
	case float64:
		if isInt64(value) {
			return hash('i', "", uint64(int64(value)))
		}
		return hash('f', "", math.Float64bits(value))
	default:
		return hash('n', "", 0) // null
	}
}

// FieldFingerprint returns the summand of a field in the Fingerprint of its object.
func FieldFingerprint(name string, value Fingerprint) Fingerprint {
	return hash('F', name, uint64(value))
}

// ItemFingerprint returns the summand of the item at an index in the Fingerprint of its list.
func ItemFingerprint(index int, value Fingerprint) Fingerprint {
	var text [8]byte
	binary.LittleEndian.PutUint64(text[:], uint64(index))
	return hash('I', string(text[:]), uint64(value))
}

// hash hashes the kind, the number and the text. The text comes last, since it is the only part of variable length.
func hash(kind byte, text string, number uint64) Fingerprint {
	var h maphash.Hash
	h.SetSeed(seed)
	var prefix [9]byte
	prefix[0] = kind
	binary.LittleEndian.PutUint64(prefix[1:], number)
	_, _ = h.Write(prefix[:])
	_, _ = h.WriteString(text)
	return Fingerprint(h.Sum64())
}
