from ._continuous import Beta as Beta
