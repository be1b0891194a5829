package scheduler

import "container/heap"

// priorityQueue is a priority queue (heap). The first item comes before all others.
type priorityQueue[T any] struct {
	items       []T
	comesBefore func(a, b T) bool
	onMoved     func(item T, to int) // reports the new index, -1: removed; may be nil
}

// Len implements heap.Interface.
func (p *priorityQueue[T]) Len() int { return len(p.items) }

// Less implements heap.Interface.
func (p *priorityQueue[T]) Less(i, j int) bool { return p.comesBefore(p.items[i], p.items[j]) }

// Swap implements heap.Interface.
func (p *priorityQueue[T]) Swap(i, j int) {
	p.items[i], p.items[j] = p.items[j], p.items[i]
	p.notifyMoved(i)
	p.notifyMoved(j)
}

// Push implements heap.Interface.
func (p *priorityQueue[T]) Push(x any) {
	p.items = append(p.items, x.(T))
	p.notifyMoved(len(p.items) - 1)
}

// Pop implements heap.Interface.
func (p *priorityQueue[T]) Pop() any {
	last := len(p.items) - 1
	item := p.items[last]
	clear(p.items[last:])
	p.items = p.items[:last]
	if p.onMoved != nil {
		p.onMoved(item, -1)
	}
	return item
}

func (p *priorityQueue[T]) notifyMoved(i int) {
	if p.onMoved != nil {
		p.onMoved(p.items[i], i)
	}
}

func (p *priorityQueue[T]) firstItem() T    { return p.items[0] }
func (p *priorityQueue[T]) pushItem(item T) { heap.Push(p, item) }
func (p *priorityQueue[T]) popFirst() T     { return heap.Pop(p).(T) }
func (p *priorityQueue[T]) removeAt(i int)  { heap.Remove(p, i) }
func (p *priorityQueue[T]) fixAt(i int)     { heap.Fix(p, i) }
