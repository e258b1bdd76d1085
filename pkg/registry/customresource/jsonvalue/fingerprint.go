// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonvalue

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"strconv"
)

// Fingerprint is a number that two JSON values have in common exactly if they are Equal, but for a chance of 1 in 2^64.
// It has another value in each process, so that nobody can look for values with the same one.
//
// That of an object is the sum of NoFields and the FieldFingerprint of each field, that of a list the sum of NoItems and
// the ItemFingerprint of each item: a field may be added to or taken from an object without looking at the others.
type Fingerprint uint64

var (
	seed = maphash.MakeSeed()
	// NoFields is the Fingerprint of an empty object.
	NoFields = Fingerprint(maphash.String(seed, "object"))
	// NoItems is the Fingerprint of an empty list.
	NoItems = Fingerprint(maphash.String(seed, "list"))
)

// FingerprintOf returns the Fingerprint of a value, in time linear in its size.
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
		return hash('n', "", 0) // null; JSON has nothing else
	}
}

// FieldFingerprint returns what a field adds to the Fingerprint of an object.
func FieldFingerprint(name string, value Fingerprint) Fingerprint {
	return hash('F', name, uint64(value))
}

// ItemFingerprint returns what the item at a position adds to the Fingerprint of a list.
func ItemFingerprint(position int, value Fingerprint) Fingerprint {
	var at [8]byte
	binary.LittleEndian.PutUint64(at[:], uint64(position))
	return hash('I', string(at[:]), uint64(value))
}

// hash tells apart what differs in any of its parts: the number has a fixed length.
func hash(kind byte, text string, number uint64) Fingerprint {
	var h maphash.Hash
	h.SetSeed(seed)
	var start [9]byte
	start[0] = kind
	binary.LittleEndian.PutUint64(start[1:], number)
	_, _ = h.Write(start[:])
	_, _ = h.WriteString(text)
	return Fingerprint(h.Sum64())
}
