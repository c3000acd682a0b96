// A reservation that is taken back, and a visitor who sees it in between.
//
// Meant to be atomic: Shop.order. The card is always declined, so an order leaves the stock as it
// was: no serial order lets the visitor see anything but 1.
//
//   buyer    DirtyRead.java:46  writes stock 0
//   visitor  DirtyRead.java:18  reads stock 0: a value that was never committed
//   buyer    DirtyRead.java:50  writes stock 1 again
//
// expect: violation Shop.order
// whole:  in stock
// torn:   sold out, but nothing was ever sold
public class DirtyRead {
    public static void main(String[] args) throws InterruptedException {
        var shop = new Shop();
        var buyer = new Thread(() -> shop.order(new Card(0)), "buyer");
        var visitor = new Thread(() -> {
            int stock = shop.getStock();
            System.out.println(stock == 1 ? "in stock" : "sold out, but nothing was ever sold");
        }, "visitor");
        buyer.start();
        visitor.start();
        buyer.join();
        visitor.join();
    }
}

record Card(int credit) {
    boolean pays(int price) {
        return credit >= price;
    }
}

class Shop {
    private int stock = 1;

    synchronized int getStock() {
        return stock;
    }

    synchronized void addStock(int change) {
        stock += change;
    }

    boolean order(Card card) {
        addStock(-1);
        if (card.pays(10)) {
            return true;
        }
        addStock(+1);
        return false;
    }
}
