package scheduler

import "container/heap"

// pile is a priority queue (heap). The first item comes before all others.
type pile[T any] struct {
	items  []T
	before func(a, b T) bool
	moved  func(item T, to int) // reports the new index, -1: removed; may be nil
}

// Len implements heap.Interface.
func (p *pile[T]) Len() int { return len(p.items) }

// Less implements heap.Interface.
func (p *pile[T]) Less(i, j int) bool { return p.before(p.items[i], p.items[j]) }

// Swap implements heap.Interface.
func (p *pile[T]) Swap(i, j int) {
	p.items[i], p.items[j] = p.items[j], p.items[i]
	p.note(i)
	p.note(j)
}

// Push implements heap.Interface.
func (p *pile[T]) Push(x any) {
	p.items = append(p.items, x.(T))
	p.note(len(p.items) - 1)
}

// Pop implements heap.Interface.
func (p *pile[T]) Pop() any {
	last := len(p.items) - 1
	item := p.items[last]
	clear(p.items[last:])
	p.items = p.items[:last]
	if p.moved != nil {
		p.moved(item, -1)
	}
	return item
}

func (p *pile[T]) note(i int) {
	if p.moved != nil {
		p.moved(p.items[i], i)
	}
}

func (p *pile[T]) first() T     { return p.items[0] }
func (p *pile[T]) add(item T)   { heap.Push(p, item) }
func (p *pile[T]) pop() T       { return heap.Pop(p).(T) }
func (p *pile[T]) remove(i int) { heap.Remove(p, i) }
func (p *pile[T]) fix(i int)    { heap.Fix(p, i) }
